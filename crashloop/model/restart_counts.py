"""Number of restarts of a curve within a time, as advertised and with lives that run; the longest right wait; the sums of a text.

Theory of operation. Restarts are points in time: a life runs, then a delay passes, then the restart takes its time.
Counting them up to a time gives every number in the KEPs. Two ways to place them:
- *advertised*: as the KEPs count, without the free restart, lives of no length, no lateness;
- *running*: as documented, the first restart free, lives of a given length, no lateness.
A right node gives at most one more than advertised. KEP hypotheses are curves like any other.
Source: KEP-4603, Risks and Mitigations; KEP-5593, Risks and Mitigations.

The sums of a text are computed again from its own assumptions. Texts count restarts of curves, some of which no kubelet has,
without the free restart and without lateness. A difference is an error of the text, not of a kubelet.
Source: KEP-4603 (text of 1.31), "Front loaded decay curve methodology", "Front loaded decay with interval", "Risks and
Mitigations", "Rapid curve methodology"; KEP-5593, "Risks and Mitigations".
"""

from collections.abc import Iterable, Iterator
from itertools import count, takewhile

from crashloop.model.config import DEFAULT_CURVE, Curve
from crashloop.spec.scenario import Claim, Figure

START_S = 3.0
"""What a start takes on a loaded node."""
JITTER, MOST_LATE_S = 0.5, 30.0
"""The kubelet looks again up to half of the delay late, but no more than that: pkg/kubelet/pod_workers.go@v1.37.1."""


def restart_moments_s(waits_s: Iterable[float], *, run_s: float = 0.0) -> Iterator[float]:
    """When each restart comes, in seconds since the first start, if every life runs `run_s` and the waits are these."""
    now_s = 0.0
    for wait_s in waits_s:
        now_s += run_s + wait_s
        yield now_s


def restarts_by(waits_s: Iterable[float], end_s: float, *, run_s: float = 0.0) -> int:
    """How many restarts come up to and including `end_s`."""
    return sum(1 for _ in takewhile(lambda moment_s: moment_s <= end_s, restart_moments_s(waits_s, run_s=run_s)))


def delays_s(curve: Curve, *, first: int = 1) -> Iterator[float]:
    """The delays of a curve from restart `first` on, without end."""
    return (curve.delay_s(restart) for restart in count(first))


def advertised(curve: Curve, end_s: float) -> int:
    """Restarts by `end_s` as the KEPs count them."""
    return restarts_by(delays_s(curve, first=2), end_s)


def running(curve: Curve, end_s: float, *, run_s: float = 10.0) -> int:
    """Restarts by `end_s` of a container whose lives run `run_s`; the most that is right for it."""
    return restarts_by(delays_s(curve), end_s, run_s=run_s)


def slowest_wait_s(delay_s: float) -> float:
    """From an exit to the restart with that delay, at the latest that is right (1.35 and later)."""
    return delay_s + most_late_s(delay_s) + START_S


def most_late_s(delay_s: float) -> float:
    """How much later than that delay a right kubelet (1.35 and later) looks again, at the most; less is as likely."""
    return min(JITTER * delay_s, MOST_LATE_S)


BEGINNING_S = 70.0
"""By then the default curve has made three restarts; KEP-4603 compares all curves there."""


def computed_figure(claim: Claim) -> float:
    """The number that follows from the claim's assumptions."""
    return claim.times * _FIGURES[claim.figure](claim)


def _restarts_claimed(claim: Claim, by_s: float) -> int:
    return restarts_by(_claimed_waits_s(claim), by_s, run_s=claim.run_s)


def _added_restarts(claim: Claim, by_s: float) -> int:
    return _restarts_claimed(claim, by_s) - restarts_by(delays_s(DEFAULT_CURVE, first=2), by_s, run_s=claim.run_s)


def _added_at_maximum(claim: Claim) -> float:
    return claim.by_s / claim.maximum_s - claim.by_s / DEFAULT_CURVE.maximum_s


def _added_late_share(claim: Claim) -> float:
    added = _added_restarts(claim, claim.by_s)
    return (added - _added_restarts(claim, BEGINNING_S)) / added if added else 0.0


def _waits_below(claim: Claim) -> int:
    return sum(1 for _ in takewhile(lambda wait_s: wait_s < claim.than_s, _claimed_waits_s(claim)))


def _claimed_waits_s(claim: Claim) -> Iterator[float]:
    return iter(claim.waits_s) if claim.waits_s else delays_s(Curve(claim.initial_s, claim.maximum_s), first=2)


_FIGURES = {
    Figure.RESTARTS: lambda claim: _restarts_claimed(claim, claim.by_s),
    Figure.ADDED: lambda claim: _added_restarts(claim, claim.by_s),
    Figure.ADDED_AT_MAXIMUM: _added_at_maximum,
    Figure.ADDED_LATE_SHARE: _added_late_share,
    Figure.WAITS_BELOW: _waits_below,
}
