"""The sums of a text, computed again from its own assumptions.

Theory of operation. Texts count restarts of curves, some of which no kubelet has, without the free restart and without
lateness. A difference is an error of the text, not of a kubelet.
Source: KEP-4603 (text of 1.31), "Front loaded decay curve methodology", "Front loaded decay with interval", "Risks and
Mitigations", "Rapid curve methodology"; KEP-5593, "Risks and Mitigations".
"""

from collections.abc import Iterator
from itertools import takewhile

from crashloop.model.config import DEFAULT_CURVE, Curve
from crashloop.model.restart_counts import delays_s, restarts_by
from crashloop.spec.scenario import Claim, Figure

BEGINNING_S = 70.0
"""By then the default curve has made three restarts; KEP-4603 compares all curves there."""


def computed(claim: Claim) -> float:
    """The number that follows from the claim's assumptions."""
    return claim.times * _FIGURES[claim.figure](claim)


def _restarts(claim: Claim, by_s: float) -> int:
    return restarts_by(_waits_s(claim), by_s, run_s=claim.run_s)


def _added(claim: Claim, by_s: float) -> int:
    return _restarts(claim, by_s) - restarts_by(delays_s(DEFAULT_CURVE, first=2), by_s, run_s=claim.run_s)


def _added_at_maximum(claim: Claim) -> float:
    return claim.by_s / claim.maximum_s - claim.by_s / DEFAULT_CURVE.maximum_s


def _added_late_share(claim: Claim) -> float:
    added = _added(claim, claim.by_s)
    return (added - _added(claim, BEGINNING_S)) / added if added else 0.0


def _waits_below(claim: Claim) -> int:
    return sum(1 for _ in takewhile(lambda wait_s: wait_s < claim.than_s, _waits_s(claim)))


def _waits_s(claim: Claim) -> Iterator[float]:
    return iter(claim.waits_s) if claim.waits_s else delays_s(Curve(claim.initial_s, claim.maximum_s), first=2)


_FIGURES = {
    Figure.RESTARTS: lambda claim: _restarts(claim, claim.by_s),
    Figure.ADDED: lambda claim: _added(claim, claim.by_s),
    Figure.ADDED_AT_MAXIMUM: _added_at_maximum,
    Figure.ADDED_LATE_SHARE: _added_late_share,
    Figure.WAITS_BELOW: _waits_below,
}
