"""Waits for a create, with what may have held it up or hidden an earlier one; of several together, few may be late.

Theory of operation. Where one wait in a hundred may be late, one late wait proves nothing, and several in a few do: as many as
chance makes once in ten thousand times.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from crashloop.checks.chance import least_beyond_chance
from crashloop.checks.finding import Checked, Finding, fail_unless
from crashloop.checks.mean_lateness import ESTIMATE
from crashloop.history.recording import PodHistory
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot
from crashloop.restarts.excuse import excuse
from crashloop.words import seconds

LATE_SHARE = 0.01
"""Of the waits."""


class Wait(NamedTuple):
    """From the event that a create follows to that create."""

    source: str
    """The container whose event it is."""
    took_s: float
    most_s: float
    doubt: str | None
    """Why it may be late without a fault of the kubelet."""
    scenario: str
    lines: tuple[int, ...]

    @property
    def is_late(self) -> bool:
        return self.took_s > self.most_s


def judged_together(waits: Sequence[Wait], what: str, say: Callable[[int, str], str]) -> Checked:
    """FAIL if more of them are late than chance makes of one in a hundred; `say` has their number and the longest in words."""
    facts = {
        ESTIMATE: f"{what}, the slowest after {seconds(max(each.took_s for each in waits))}",
        "took_s": [round(each.took_s, 3) for each in waits],
    }
    return Checked(findings=tuple(_beyond_chance(waits, say)), facts=facts)


def _beyond_chance(waits: Sequence[Wait], say: Callable[[int, str], str]) -> Iterator[Finding]:
    late, least = [each for each in waits if each.is_late], least_beyond_chance(len(waits), LATE_SHARE)
    if len(late) < least:
        return
    excused = [each for each in late if each.doubt is not None]
    doubt = excused[0].doubt if len(late) - len(excused) < least else None
    seen = f"{say(len(late), seconds(max(each.took_s for each in late)))}; one in a hundred may be as late."
    yield fail_unless(doubt, seen).at(*((each.scenario, each.lines) for each in late))


def doubt_of(
    case: Case, pod: PodHistory, containers: Iterable[str], window_ns: tuple[int, int], most_s: float
) -> str | None:
    """What may have held a late create of these containers up, or hidden an earlier one; None if it was not late."""
    from_ns, to_ns = window_ns
    beyond_s = (to_ns - from_ns) / 1e9 - most_s
    if beyond_s <= 0:
        return None
    for name in containers:
        blind = blind_spot(case, pod, pod.instances(name), from_ns, to_ns)
        if blind is not None:
            return f"A start could have gone unseen: {blind}"
    disturbed = next((each for each in case.recording.interventions if from_ns <= each.t_ns <= to_ns), None)
    if disturbed is not None:
        return f"The scenario intervened meanwhile (history line {disturbed.line})"
    return excuse(case, window_ns, 0.0, beyond_s)
