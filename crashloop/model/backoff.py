"""The delay before each restart of a container, from the lives it has had.

Theory of operation. A fold over what was observed of one container: at each exit the counter (counter.py) says what may
follow; the next life shows which of it happened, and where that cannot be told all candidates are carried on. So a
delay is judged by the container's real history, not by an ideal one, and a delay that broke the rules does not
falsify those after it. Marks between the lives are what else changes a counter.
Source: KEP-5593, Summary and Relationship with k/k#123602; the files named in counter.py and disturbance.py.
"""

from collections.abc import Iterable, Sequence

import msgspec

from crashloop.model.config import Curve
from crashloop.model.counter import Branch, Counter, Exit, Setting, branches
from crashloop.model.disturbance import disturbed, forgets
from crashloop.model.lateness import DETECTION_S
from crashloop.model.lives import (
    ChangedPart,
    DeadContainerRemoved,
    KeyChanged,
    Lived,
    Mark,
    Observed,
)
from crashloop.model.variants import DOCUMENTED, require_known
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion

_RESOLUTION_S = 0.05


class Due(msgspec.Struct, frozen=True, kw_only=True):
    """When one restart is due, in seconds from the exit before it to the runtime's create."""

    restart: int
    """Counted from 1; the container's restartCount after it, if nothing else counts."""
    delay_s: float
    """Lower bound, exact: no right restart comes earlier, by any alternative."""
    latest_s: float
    """Upper bound; math.inf where none is promised."""
    reason: str
    alternatives: tuple["Due", ...] = ()
    """Other windows that are as right, by rising delay: the evidence cannot tell which one applies."""

    @property
    def windows(self) -> tuple["Due", ...]:
        """This and the alternatives; a restart is right if it fits one of them."""
        return (self, *self.alternatives)


def dues(
    curve: Curve,
    lives: Iterable[Observed],
    *,
    version: KubernetesVersion,
    mode: Mode,
    deviations: frozenset[str] = DOCUMENTED,
    other_sync_sources: bool = False,
    detection_s: float = DETECTION_S,
) -> tuple[Due, ...]:
    """One `Due` for each life that has finished, in order: for the restart that follows it, seen or not.

    Whether a restart follows at all is for `restart.decide`. Raises ValueError if times run backwards.
    """
    require_known(deviations)
    setting = Setting(
        curve=curve,
        version=version,
        mode=mode,
        deviations=deviations,
        other_sync_sources=other_sync_sources,
        detection_s=detection_s,
    )
    periods = _periods(lives)
    found: list[Due] = []
    entries: tuple[Counter | None, ...] = (None,)
    previous_finished_s: float | None = None
    for position, (life, marks) in enumerate(periods):
        if life.finished_s is None:
            break
        following = _following(entries, life, life.finished_s, previous_finished_s, marks, setting)
        found.append(_due(position + 1, following))
        if position + 1 < len(periods):
            attempt_s = periods[position + 1][0].started_attempt_s
            taken = _taken(following, attempt_s - life.finished_s)
            entries = tuple(dict.fromkeys(each.entry_after(attempt_s) for each in taken))
        gone = life.restart_all or any(isinstance(mark, DeadContainerRemoved) for mark in marks)
        previous_finished_s = None if gone else life.finished_s
    return tuple(found)


def _periods(lives: Iterable[Observed]) -> list[tuple[Lived, list[Mark]]]:
    """Each life with the marks that fell into it or into the wait after it."""
    periods: list[tuple[Lived, list[Mark]]] = []
    for each in lives:
        if not isinstance(each, Lived):
            if periods:
                periods[-1][1].append(each)
            continue
        before_s = periods[-1][0].finished_s if periods else each.started_attempt_s
        ends_s = each.started_attempt_s if each.finished_s is None else each.finished_s
        if before_s is None or not before_s <= each.started_attempt_s <= ends_s:
            raise ValueError(f"{each}: a life begins after the one before has ended ({before_s}), and then ends")
        periods.append((each, []))
    return periods


def _following(
    entries: Sequence[Counter | None],
    life: Lived,
    finished_s: float,
    previous_finished_s: float | None,
    marks: Sequence[Mark],
    setting: Setting,
) -> list[Branch]:
    """What may follow a life, whichever of `entries` the counter was."""
    redefined = False
    for mark in marks:
        if mark.at_s > finished_s:
            continue
        if isinstance(mark, KeyChanged):
            redefined = redefined or (life.killed_by_kubelet and mark.part is ChangedPart.IMAGE)
        if isinstance(mark, DeadContainerRemoved):
            previous_finished_s = None
        if forgets(mark, setting):
            entries = (None,)
    exit_ = Exit(
        finished_s=finished_s,
        previous_finished_s=previous_finished_s,
        killed=life.killed_by_kubelet,
        redefined=redefined,
        restart_all=life.restart_all,
    )
    following = [branch for entry in entries for branch in branches(entry, exit_, setting)]
    for mark in marks:
        if mark.at_s > finished_s:
            at_s = mark.at_s - finished_s
            following = [each for branch in following for each in disturbed(branch, mark, at_s, setting)]
    return following


def _due(restart: int, following: Sequence[Branch]) -> Due:
    windows: dict[tuple[float, float], Due] = {}
    for branch in sorted(following, key=lambda each: (each.delay_s, each.latest_s)):
        due = Due(restart=restart, delay_s=branch.delay_s, latest_s=branch.latest_s, reason=branch.reason)
        windows.setdefault((branch.delay_s, branch.latest_s), due)
    first, *others = windows.values()
    return msgspec.structs.replace(first, alternatives=tuple(others))


def _taken(following: Sequence[Branch], waited_s: float) -> Sequence[Branch]:
    """The branches that a wait can have been: those whose window holds it, else those it is no less than, else all."""
    late = [each for each in following if each.delay_s <= waited_s + _RESOLUTION_S]
    fitting = [each for each in late if waited_s <= each.latest_s + _RESOLUTION_S]
    return fitting or late or following
