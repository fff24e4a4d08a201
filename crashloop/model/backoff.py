"""The delay before each restart of a container, from the lives it has had.

Theory of operation. A fold over what was observed of one container: at each exit the counter (counter.py) says what may
follow; the next life shows which of it happened, and where that stays open all candidates are carried on. So a
delay is judged by the container's real history, not by an ideal one, and a delay that broke the rules does not
falsify those after it. Marks between the lives are what else changes a counter. A restarted kubelet may have another
configuration (config.py): from that mark on its curve counts.
Source: KEP-5593, Summary and Relationship with k/k#123602; the files named in counter.py and lives.py.
"""

import math
from collections.abc import Iterable, Sequence

import msgspec

from crashloop.model.config import Curve
from crashloop.model.counter import ATTEMPT_TO_CREATE_S, Branch, Counter, Exit, Setting, branches
from crashloop.model.lateness import DETECTION_S
from crashloop.model.lives import (
    KUBELET_BACK_S,
    ChangedPart,
    CounterLost,
    DeadContainerRemoved,
    KeyChanged,
    Lived,
    Mark,
    Observed,
    StartsBlocked,
    blocked,
    disturbed,
    forgets,
    started_before,
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
    """Other windows that are as right, by rising delay: the evidence does not show which one applies."""

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
    befores: tuple[float | None, ...] = (None,)
    for position, (life, marks) in enumerate(periods):
        if life.finished_s is None:
            break
        begun = periods[position + 1][0] if position + 1 < len(periods) else None
        late_s = 0.0 if begun is None else begun.created_late_s
        exit_ = Exit(
            finished_s=life.finished_s,
            killed=life.killed_by_kubelet,
            may_be_killed=life.may_be_killed,
            by_rule_alone=life.by_rule_alone,
            restart_all=life.restart_all,
            late_s=late_s,
            held_s=0.0 if begun is None else begun.held_s,
        )
        shown_s = math.inf if begun is None else begun.started_attempt_s - life.finished_s
        following, setting = _following(entries, exit_, befores, marks, setting, shown_s)
        found.append(_due(position + 1, following))
        if begun is not None:
            taken = _taken(following, begun.started_attempt_s - life.finished_s, late_s)
            early_s = ATTEMPT_TO_CREATE_S + late_s
            entries = tuple(dict.fromkeys(each.entry_after(begun.started_attempt_s, early_s) for each in taken))
        dead = (mark for mark in marks if isinstance(mark, DeadContainerRemoved))
        removed = [mark for mark in dead if _comes_after(mark, life.finished_s)]
        if life.restart_all or not all(mark.by_hand for mark in removed):
            befores = (None,)
        else:
            befores = (*befores, None) if removed else (life.finished_s,)
    return tuple(found)


def _periods(lives: Iterable[Observed]) -> list[tuple[Lived, list[Mark]]]:
    """Each life with the marks that fell into it or into the wait after it.

    A start that was under way when starts were blocked still comes; those after it are blocked all the same.
    """
    periods: list[tuple[Lived, list[Mark]]] = []
    blocks: list[StartsBlocked] = []
    for each in lives:
        if not isinstance(each, Lived):
            blocks += [each] if isinstance(each, StartsBlocked) else []
            if periods:
                periods[-1][1].append(each)
            continue
        before_s = periods[-1][0].finished_s if periods else each.started_attempt_s
        ends_s = each.started_attempt_s if each.finished_s is None else each.finished_s
        if before_s is None or not before_s <= each.started_attempt_s <= ends_s:
            raise ValueError(f"{each}: a life begins after the one before has ended ({before_s}), and then ends")
        periods.append((each, [mark for mark in blocks if mark.until_s > each.started_attempt_s]))
    return periods


def _following(
    entries: Sequence[Counter | None],
    exit_: Exit,
    befores: Sequence[float | None],
    marks: Sequence[Mark],
    setting: Setting,
    shown_s: float,
) -> tuple[list[Branch], Setting]:
    """What may follow an exit, whichever of `entries` the counter was; and the setting after the last mark.

    `befores`: when the exit before may have been that the kubelet still knows of; None: it knows of none. `shown_s`: from the
    exit to the start that followed, as it was seen, which may be late.
    """
    finished_s = exit_.finished_s
    redefined, back_s, known = False, 0.0, [*befores]
    for mark in marks:
        if _comes_after(mark, finished_s):
            continue
        setting = _after(mark, setting)
        if isinstance(mark, CounterLost):
            back_s = mark.at_s + KUBELET_BACK_S - finished_s
        if isinstance(mark, KeyChanged):
            redefined = redefined or (exit_.killed and mark.part is ChangedPart.IMAGE)
        if isinstance(mark, DeadContainerRemoved):
            # The kill and the start go by a look at the runtime that may be as old as that.
            known = [None] if finished_s - mark.at_s > setting.detection_s else [*befores, None]
        if forgets(mark):
            entries = (None,)
    exits = [
        msgspec.structs.replace(exit_, previous_finished_s=each, redefined=redefined) for each in dict.fromkeys(known)
    ]
    found = (branch for each in exits for entry in entries for branch in branches(entry, each, setting))
    # A kubelet that has just started takes its time to look, whatever the exit.
    following = [msgspec.structs.replace(each, latest_s=max(each.latest_s, back_s)) for each in found]
    unnoticed: list[Branch] = []
    for mark in marks:
        at_s = mark.at_s - finished_s
        if isinstance(mark, StartsBlocked):
            following = [each for branch in following for each in blocked(branch, mark, finished_s, setting)]
        elif _comes_after(mark, finished_s):
            setting = _after(mark, setting)
            over = shown_s - exit_.late_s <= at_s and isinstance(mark, CounterLost)
            attempted = [started_before(each, at_s) for each in following if over and each.delay_s <= at_s]
            following = [each for branch in following for each in disturbed(branch, mark, at_s, shown_s, setting)]
            following += attempted
            if isinstance(mark, KeyChanged) and _may_be_unnoticed(mark, at_s, setting):
                unnoticed += _killed_when_dead(entries, exits[0], mark, at_s, setting)
    return [*following, *unnoticed], setting


def _comes_after(mark: Mark, finished_s: float) -> bool:
    """Whether a mark comes after an exit; a removal that has the same stamp does, as nothing that runs is removed."""
    return mark.at_s > finished_s or (mark.at_s == finished_s and isinstance(mark, DeadContainerRemoved))


def _may_be_unnoticed(mark: KeyChanged, at_s: float, setting: Setting) -> bool:
    """Whether the kubelet may have heard of a new image before it noticed the exit `at_s` seconds earlier."""
    return mark.part is ChangedPart.IMAGE and at_s <= setting.detection_s + mark.late_s


def _killed_when_dead(
    entries: Sequence[Counter | None], exit_: Exit, mark: KeyChanged, at_s: float, setting: Setting
) -> list[Branch]:
    """A new image that the kubelet hears of before it notices the exit: it replaces the container as if it still ran."""
    replaced = msgspec.structs.replace(exit_, killed=True, redefined=True)
    known = (None,) if forgets(mark) else entries
    following = (branch for entry in known for branch in branches(entry, replaced, setting))
    return [msgspec.structs.replace(each, latest_s=each.latest_s + at_s) for each in following]


def _after(mark: Mark, setting: Setting) -> Setting:
    """The setting from a mark on."""
    return setting.under(mark.in_force) if isinstance(mark, CounterLost) and mark.in_force is not None else setting


def _due(restart: int, following: Sequence[Branch]) -> Due:
    windows: dict[tuple[float, float], Due] = {}
    for branch in sorted(following, key=lambda each: (each.delay_s, each.latest_s)):
        due = Due(restart=restart, delay_s=branch.delay_s, latest_s=branch.latest_s, reason=branch.reason)
        windows.setdefault((branch.delay_s, branch.latest_s), due)
    first, *others = windows.values()
    return msgspec.structs.replace(first, alternatives=tuple(others))


def _taken(following: Sequence[Branch], waited_s: float, late_s: float) -> Sequence[Branch]:
    """The branches that a wait can have been: those whose window holds it, else those it is no less than, else all.

    `late_s`: for how much longer than usual the host held the start up.
    """
    late = [each for each in following if each.delay_s <= waited_s + _RESOLUTION_S]
    fitting = [each for each in late if waited_s <= each.latest_s + late_s + _RESOLUTION_S]
    return fitting or late or following
