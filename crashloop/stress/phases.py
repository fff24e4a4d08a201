"""What was measured when: stages of the plan, as far as the load came. Pure."""

from collections.abc import Iterable, Sequence

import msgspec

from crashloop.slo.types import Phase
from crashloop.stress.assignment import StageMark
from crashloop.stress.profile import Stage


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """A stage that was measured, whole or in part."""

    index: int
    stage: Stage
    phase: Phase
    users: int
    """Users that there were when it began."""
    whole: bool
    """Whether it was measured to its end."""
    came_ns: int | None = None
    """When its users began to come, before it was measured; None if that was not written down."""
    users_before: int = 0
    """Users of the stage before it that had not gone when its own began to come."""

    @property
    def name(self) -> str:
        """Such as `stage 2 (storm)`."""
        return stage_name(self.index, self.stage)


def stage_name(index: int, stage: Stage) -> str:
    """A stage as verdicts call it, by its place in the plan."""
    return f"stage {index + 1} ({stage.label})"


def measurements(
    stages: Sequence[Stage], marks: Iterable[StageMark], *, until_ns: int | None = None
) -> tuple[Measurement, ...]:
    """The stages that were measured. One that was cut off is measured up to `until_ns`, when the load had ended."""
    times: dict[tuple[int, str], StageMark] = {(mark.index, mark.what): mark for mark in marks}
    found = []
    for index, stage in enumerate(stages):
        begin, end = times.get((index, "measure")), times.get((index, "drain"))
        to_ns = until_ns if end is None else end.t_ns
        if begin is None or to_ns is None or to_ns <= begin.t_ns:
            continue
        came, before = times.get((index, "begin")), times.get((index - 1, "end"))
        found.append(
            Measurement(
                index=index,
                stage=stage,
                phase=Phase(name=stage.name, from_ns=begin.t_ns, to_ns=to_ns, arm=stage.arm),
                users=begin.users,
                whole=end is not None,
                came_ns=None if came is None else came.t_ns,
                users_before=0 if before is None else before.users,
            )
        )
    return tuple(found)


def began_ns(marks: Iterable[StageMark]) -> int | None:
    """When the load began; None if it never did."""
    return next((mark.t_ns for mark in marks if mark.what == "begin"), None)


def ended_ns(marks: Iterable[StageMark]) -> int | None:
    """When the last thing happened to a stage."""
    return max((mark.t_ns for mark in marks), default=None)
