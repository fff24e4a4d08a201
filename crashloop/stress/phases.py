"""The measured stages of the plan, with their times. Pure."""

from collections.abc import Iterable, Sequence

import msgspec

from crashloop.slo.measurements import Phase
from crashloop.stress.assignment import StageMark
from crashloop.stress.profile import Stage


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """A stage that was measured, whole or in part."""

    index: int
    stage: Stage
    phase: Phase
    users: int
    """Users at its begin."""
    whole: bool
    """Whether it was measured to its end."""
    came_ns: int | None = None
    """When its users began to start, before the measurement; None if that was not written."""
    users_before: int = 0
    """Users of the previous stage that had not stopped when its own began to start."""

    @property
    def name(self) -> str:
        """Such as `stage 2 (storm)`."""
        return stage_name(self.index, self.stage)


def stage_name(index: int, stage: Stage) -> str:
    """Name of a stage in verdicts, by its place in the plan."""
    return f"stage {index + 1} ({stage.label})"


def measurements(
    stages: Sequence[Stage], marks: Iterable[StageMark], *, until_ns: int | None = None
) -> tuple[Measurement, ...]:
    """The measured stages. An interrupted one ends at `until_ns`, the end of the load."""
    times: dict[tuple[int, str], StageMark] = {(mark.index, mark.what): mark for mark in marks}
    found = []
    for index, stage in enumerate(stages):
        begin, end = times.get((index, "measure")), times.get((index, "drain"))
        to_ns = until_ns if end is None else end.t_ns
        if begin is None or to_ns is None or to_ns <= begin.t_ns:
            continue
        came, before = times.get((index, "begin")), times.get((index - 1, "end"))
        came_ns = None if came is None else came.t_ns
        found.append(
            Measurement(
                index=index,
                stage=stage,
                phase=Phase(name=stage.name, from_ns=begin.t_ns, to_ns=to_ns, arm=stage.arm, mix=stage.mix),
                users=begin.users,
                whole=end is not None,
                came_ns=came_ns,
                users_before=0 if before is None else before.users,
            )
        )
    return tuple(found)


def cut_ns(marks: Iterable[StageMark], cuts_ns: Iterable[int]) -> int | None:
    """When the stage that was measured last was cut short: the first of these moments since its begin; None without one."""
    begun_ns = max((mark.t_ns for mark in marks if mark.what == "measure"), default=0)
    return min((t_ns for t_ns in cuts_ns if t_ns >= begun_ns), default=None)


def began_ns(marks: Iterable[StageMark]) -> int | None:
    """When the load began; None if it never did."""
    return next((mark.t_ns for mark in marks if mark.what == "begin"), None)


def ended_ns(marks: Iterable[StageMark]) -> int | None:
    """When the last stage changed last."""
    return max((mark.t_ns for mark in marks), default=None)
