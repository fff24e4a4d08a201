"""Decides whether a value of two stress runs changed by more than noise.

A value has changed if its two 95 % intervals do not overlap *and* the larger is more than a threshold times the smaller.
The interval covers the variation within one run. But hosts drift, and repeated runs differ by more than their intervals, so
the intervals alone would report a change between equal runs.
"""

import math

import msgspec

from crashloop.comparison.change import Change
from crashloop.slo.estimates import least_samples
from crashloop.slo.measurements import Interval
from crashloop.slo.rows import Better

NOISE_RATIO = 1.5
"""The largest ratio of two equal values. Two quiet runs of `quick` on two cores, with nothing changed, differed by a factor of
up to 1.31 where intervals did not overlap (CPU of the runtimes in the half minute after the storm)."""

MIN_SAMPLES = 8
"""A percentile of fewer samples than this is not compared, whatever its rank: their interval is too narrow."""


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A value as one run measured it."""

    value: float | None
    interval: Interval | None = None
    samples: int | None = None
    """None without single samples."""


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """The kind of a value."""

    name: str
    """Id of a row, or name of a figure."""
    unit: str
    better: Better | None
    """None: one of the runs was judged before results had it."""
    percentile: float | None = None


class ValueChange(msgspec.Struct, frozen=True, kw_only=True):
    """One value in both runs."""

    measure: Measure
    before: Value
    after: Value
    change: Change | None = None
    """WORSE, BETTER or SAME; None if the two cannot be compared."""
    not_compared: str = ""
    """Why they cannot."""
    ratio: float | None = None
    """After divided by before; None if not compared, or not both are above zero."""
    threshold: float | None = None
    """The ratio beyond which, in either direction, values differ by more than noise."""

    @property
    def is_change(self) -> bool:
        return self.change in (Change.WORSE, Change.BETTER)


def value_change(measure: Measure, before: Value, after: Value, *, threshold: float, obstacle: str = "") -> ValueChange:
    """The two values beside each other. `obstacle`: why values of the two runs cannot be compared; empty if they can."""
    shown = ValueChange(measure=measure, before=before, after=after)
    reason = obstacle or _lacking(measure, before, after)
    if reason:
        return msgspec.structs.replace(shown, not_compared=reason)
    assert before.value is not None
    assert after.value is not None
    return msgspec.structs.replace(
        shown,
        change=_change(measure, before, after, threshold),
        ratio=after.value / before.value if min(before.value, after.value) > 0 else None,
        threshold=threshold,
    )


def _lacking(measure: Measure, before: Value, after: Value) -> str:
    """What prevents their comparison; empty if nothing does."""
    missing = [name for name, each in (("first", before), ("second", after)) if each.value is None]
    if missing:
        return f"no value in the {' and the '.join(missing)} run."
    if measure.better is None:
        return "the results of one run do not say whether lower or higher is better; judge it again."
    if measure.percentile is not None:
        needed = max(MIN_SAMPLES, least_samples(measure.percentile))
        if min(before.samples or 0, after.samples or 0) < needed:
            return f"p{measure.percentile:g} of fewer than {needed} samples."
    if _bounds(before) is None or _bounds(after) is None:
        return "no interval: one of the runs has too few samples, or was judged before results had intervals."
    return ""


def _change(measure: Measure, before: Value, after: Value, threshold: float) -> Change:
    old, new = _bounds(before), _bounds(after)
    assert old is not None
    assert new is not None
    apart = old[1] < new[0] or new[1] < old[0]
    if not apart or _times(before.value or 0.0, after.value or 0.0) <= threshold:
        return Change.SAME
    is_higher = (after.value or 0.0) > (before.value or 0.0)
    return Change.BETTER if is_higher is (measure.better is Better.HIGHER) else Change.WORSE


def _bounds(value: Value) -> tuple[float, float] | None:
    return None if value.interval is None else value.interval.bounds


def _times(one: float, other: float) -> float:
    """The larger divided by the smaller; values at or below zero count as tiny."""
    low, high = sorted((max(0.0, one), max(0.0, other)))
    if low > 0:
        return high / low
    return math.inf if high > 0 else 1.0
