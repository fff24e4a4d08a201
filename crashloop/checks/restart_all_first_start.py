"""Checker of how soon a pod starts again after RestartAllContainers, in several resets together.

Theory of operation. KEP-5532 promises 5 s from the exit to the first start, in 99 % of all resets of a simple pod of two
containers. So one late reset in a hundred proves nothing, and several in a few do: as many as chance makes once in ten
thousand times.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from crashloop.checks.case import Case
from crashloop.checks.chance import CHANCE, fewer_than
from crashloop.checks.evidence import blind_spot, too_few_in_all
from crashloop.checks.excuse import excuse
from crashloop.checks.finding import Checked, Finding, fail_unless
from crashloop.checks.mean_lateness import ESTIMATE
from crashloop.checks.restart_all_triggers import RestartAllTrigger, ran, resets_of
from crashloop.checks.text import seconds
from crashloop.history.recording import PodHistory

MIN_RESETS = 3
MOST_S = 5.0
LATE_SHARE = 0.01
"""Of the resets; KEP-5532 promises the others."""


class Reset(NamedTuple):
    """A RestartAllContainers: seconds from the exit to the first create after it, and what else may have taken them."""

    took_s: float
    doubt: str | None
    scenario: str
    lines: tuple[int, ...]

    @property
    def is_late(self) -> bool:
        return self.took_s > MOST_S


def check_restart_all_first_start(cases: Sequence[Case]) -> Checked:
    """The first container MUST be created within 5 s after the exit in 99 % of all resets. Needs min_resets (3) resets."""
    resets = [each for case in cases for each in _resets(case)]
    few = tuple(too_few_in_all(cases, len(resets), "min_resets", MIN_RESETS, "reset"))
    if few:
        return Checked(findings=few)
    slowest_s = max(each.took_s for each in resets)
    facts = {
        ESTIMATE: f"{len(resets)} resets, the slowest after {seconds(slowest_s)}",
        "took_s": [round(each.took_s, 3) for each in resets],
    }
    return Checked(findings=tuple(_beyond_chance(resets)), facts=facts)


def least_beyond_chance(of: int) -> int:
    """The least number of late resets of so many that are too many, but for `CHANCE`."""
    return next((late for late in range(of + 1) if 1 - fewer_than(late, of, LATE_SHARE) < CHANCE), of + 1)


def _beyond_chance(resets: Sequence[Reset]) -> Iterator[Finding]:
    late, least = [each for each in resets if each.is_late], least_beyond_chance(len(resets))
    if len(late) < least:
        return
    excused = [each for each in late if each.doubt is not None]
    doubt = excused[0].doubt if len(late) - len(excused) < least else None
    seen = (
        f"in {len(late)} of {len(resets)} RestartAllContainers nothing was created within {seconds(MOST_S)} after the exit, "
        f"but up to {seconds(max(each.took_s for each in late))} after it; one in a hundred may be as late."
    )
    yield fail_unless(doubt, seen).at(*((each.scenario, each.lines) for each in late))


def _resets(case: Case) -> Iterator[Reset]:
    for pod in case.pods:
        for trigger in resets_of(case, pod):
            reset = _measured(case, pod, trigger)
            if reset is not None:
                yield reset


def _measured(case: Case, pod: PodHistory, trigger: RestartAllTrigger) -> Reset | None:
    """None if nothing was created, and too little time was watched to call that late."""
    begun = [start for spec in case.scenario.pod.containers for each in ran(pod, spec.name) if (start := each.begun)]
    after = [each for each in begun if each.utc_ns is not None and each.utc_ns > trigger.t_ns]
    first = min(after, key=lambda each: each.utc_ns or 0, default=None)
    until_ns = case.recording.end_ns if first is None else first.utc_ns or 0
    took_s = (until_ns - trigger.t_ns) / 1e9
    if first is None and took_s <= MOST_S:
        return None
    doubt = _doubt(case, pod, trigger, until_ns) if took_s > MOST_S else None
    lines = (trigger.exited.line,) if first is None else (trigger.exited.line, first.line)
    return Reset(took_s, doubt, case.scenario.name, lines)


def _doubt(case: Case, pod: PodHistory, trigger: RestartAllTrigger, until_ns: int) -> str | None:
    """What may have held a late create up, or hidden an earlier one."""
    for spec in case.scenario.pod.containers:
        blind = blind_spot(case, pod, pod.instances(spec.name), trigger.t_ns, until_ns)
        if blind is not None:
            return f"A start could have gone unseen: {blind}"
    window_ns = trigger.t_ns, until_ns
    return excuse(case, window_ns, 0.0, (until_ns - trigger.t_ns) / 1e9 - MOST_S)
