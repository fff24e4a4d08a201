"""Times in which a node had no kubelet: nothing restarts, and nobody says anything."""

from collections.abc import Iterable, Iterator

import msgspec

from crashloop.checks.case import Case
from crashloop.history.recording import Done
from crashloop.spec.intervention import RESTART_THE_KUBELET, down_s


class Absence(msgspec.Struct, frozen=True):
    """A time without a kubelet, by UTC."""

    line: int
    """Of the intervention."""
    from_ns: int
    to_ns: int
    """The start of the next kubelet, by its own log."""

    @property
    def length_s(self) -> float:
        return (self.to_ns - self.from_ns) / 1e9


def absences(case: Case) -> Iterator[Absence]:
    """The kubelet is surely away for as long as it was to stay away before the next one started."""
    for done in _ended(case):
        down_ns = round(down_s(done.data.arguments) * 1e9)
        back_ns = _back_ns(case, done)
        if back_ns is not None:
            yield Absence(done.line, max(done.t_ns, back_ns - down_ns), back_ns)


def away_ns(case: Case, from_ns: int, to_ns: int) -> int:
    """For how long the node had no kubelet in that interval."""
    return within_ns(((each.from_ns, each.to_ns) for each in absences(case)), from_ns, to_ns)


def within_ns(times_ns: Iterable[tuple[int, int]], from_ns: int, to_ns: int) -> int:
    """How much of these times, each from its begin to its end, lies within an interval."""
    return sum(max(0, min(end_ns, to_ns) - max(begin_ns, from_ns)) for begin_ns, end_ns in times_ns)


def never_back(case: Case, to_ns: int) -> int | None:
    """The history line on which a kubelet was ended by then of which no later start was seen; None if there is none."""
    return next((done.line for done in _ended(case) if done.t_ns <= to_ns and _back_ns(case, done) is None), None)


def _ended(case: Case) -> Iterator[Done]:
    return (done for done in case.recording.interventions if done.data.action in RESTART_THE_KUBELET and done.ok)


def _back_ns(case: Case, done: Done) -> int | None:
    """When the next kubelet started, by its own log."""
    started = (each.data.kubelet_started_ns for each in case.recording.nodes)
    return next((each for each in started if each is not None and each >= done.t_ns), None)
