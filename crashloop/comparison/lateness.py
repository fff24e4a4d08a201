"""Compares the lateness of restarts in two runs: finds differences beyond noise.

Lateness is created_s - due_s (crashloop.report.curves). It is compared for each curve and due delay, and over all
curves of a mode that both runs have. The median is compared, since a single stall of the host moves a mean.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from crashloop.report.curves import PlottedCurve
from crashloop.slo.estimates import percentile_of

MIN_DELAYS = 8
"""Fewer delays than this on one side are shown and not compared: with 5, 1 of 50 equal pairs seemed to differ."""

MIN_CHANGE_S = 0.25
"""A smaller difference of medians is no change: the phase of the kubelet's relist (1 s) alone moves them so far."""

CONFIDENCE = 0.99

RESAMPLES = 2000

_RESAMPLED_AT_ONCE = 1_000_000

Floats = NDArray[np.float64]

Samples = list[tuple[float, float]]
"""Lateness, and the host's stall during the delay, both in seconds."""


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """Lateness of the delays of one run, in seconds; without delays only `n`."""

    n: int
    p50_s: float | None = None
    p90_s: float | None = None
    max_s: float | None = None
    stalled_p50_s: float | None = None
    """Median of the host's stalls during these delays."""


class LatenessChange(msgspec.Struct, frozen=True, kw_only=True):
    """One distribution in both runs."""

    curve: str
    """Scenario and container, or `all natural curves`."""
    due_s: float
    before: Distribution
    after: Distribution
    difference_s: float | None = None
    """Median after minus median before; None if a side has too few delays."""
    low_s: float | None = None
    high_s: float | None = None
    """Ends of the bootstrap interval of the difference (percentiles, CONFIDENCE)."""
    threshold_s: float | None = None
    """The least difference that counts: MIN_CHANGE_S, or the difference of the host's stalls if that is larger."""

    @property
    def is_compared(self) -> bool:
        return self.difference_s is not None

    @property
    def is_change(self) -> bool:
        """The interval excludes zero, and the difference exceeds the threshold."""
        if self.difference_s is None or self.low_s is None or self.high_s is None or self.threshold_s is None:
            return False
        return (self.low_s > 0 or self.high_s < 0) and abs(self.difference_s) > self.threshold_s

    @property
    def is_longer(self) -> bool:
        return self.is_change and (self.difference_s or 0.0) > 0


def lateness_changes(before: Iterable[PlottedCurve], after: Iterable[PlottedCurve]) -> tuple[LatenessChange, ...]:
    """Every distribution that at least one run has, pooled ones last."""
    old, new = ({(each.scenario, each.container): each for each in curves} for curves in (before, after))
    shared = old.keys() & new.keys()
    single = _compare(_by_curve(old.values()), _by_curve(new.values()))
    pooled = _compare(*(_by_mode([curves[key] for key in sorted(shared)]) for curves in (old, new)))
    return (*single, *pooled)


def _compare(
    before: Mapping[tuple[str, float], Samples], after: Mapping[tuple[str, float], Samples]
) -> list[LatenessChange]:
    return [
        compared(curve, due_s, before.get((curve, due_s), []), after.get((curve, due_s), []))
        for curve, due_s in sorted(before.keys() | after.keys())
    ]


def _by_curve(curves: Iterable[PlottedCurve]) -> dict[tuple[str, float], Samples]:
    return _grouped((f"{each.scenario} {each.container}", each) for each in curves)


def _by_mode(curves: Sequence[PlottedCurve]) -> dict[tuple[str, float], Samples]:
    """Over all curves of a mode with more than one curve."""
    named = [(f"all {each.mode} curves", each) for each in curves if each.mode]
    return _grouped((name, curve) for name, curve in named if sum(name == other for other, _ in named) > 1)


def _grouped(curves: Iterable[tuple[str, PlottedCurve]]) -> dict[tuple[str, float], Samples]:
    """Samples by name and due delay; a delay without a create, or with more than one window, has no lateness."""
    samples: dict[tuple[str, float], Samples] = defaultdict(list)
    for name, curve in curves:
        for delay in curve.delays:
            if delay.created_s is not None and not delay.alternatives:
                samples[name, delay.due_s].append((delay.created_s - delay.due_s, delay.stalled_s))
    return samples


def compared(curve: str, due_s: float, before: Samples, after: Samples) -> LatenessChange:
    """Two samples beside each other."""
    old, new = distribution(before), distribution(after)
    shown = LatenessChange(curve=curve, due_s=due_s, before=old, after=new)
    if min(old.n, new.n) < MIN_DELAYS:
        return shown
    low, high = np.quantile(_differences(before, after), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    stalls = abs((new.stalled_p50_s or 0.0) - (old.stalled_p50_s or 0.0))
    return msgspec.structs.replace(
        shown,
        difference_s=_rounded((new.p50_s or 0.0) - (old.p50_s or 0.0)),
        low_s=_rounded(low),
        high_s=_rounded(high),
        threshold_s=_rounded(max(MIN_CHANGE_S, stalls)),
    )


def distribution(samples: Samples) -> Distribution:
    """Percentiles of lateness, by nearest rank."""
    if not samples:
        return Distribution(n=0)
    late, stalled = zip(*samples, strict=True)
    return Distribution(
        n=len(samples),
        p50_s=_rounded(percentile_of(late, 50)),
        p90_s=_rounded(percentile_of(late, 90)),
        max_s=_rounded(max(late)),
        stalled_p50_s=_rounded(percentile_of(stalled, 50)),
    )


def _differences(before: Samples, after: Samples) -> Floats:
    """Differences of the medians of resamples. Each seed serves each side once: swapping the runs only flips the sign."""
    half = RESAMPLES // 2
    forth = _medians(after, seed=1, number=half) - _medians(before, seed=0, number=half)
    back = _medians(after, seed=0, number=half) - _medians(before, seed=1, number=half)
    return np.concatenate([forth, back])


def _medians(samples: Samples, *, seed: int, number: int) -> Floats:
    """Medians of that many resamples, made in blocks, so that the delays of a storm fit into memory."""
    late = np.array([each for each, _ in samples])
    generator = np.random.default_rng(seed)
    block = max(1, _RESAMPLED_AT_ONCE // len(late))
    sizes = [min(block, number - start) for start in range(0, number, block)]
    return np.concatenate([_medians_of(generator.choice(late, (size, len(late)))) for size in sizes])


def _medians_of(rows: NDArray[np.float64]) -> Floats:
    """Of every row, by nearest rank, as in percentile_of."""
    medians: Floats = np.quantile(rows, 0.5, axis=1, method="inverted_cdf")
    return medians


def _rounded(value: float) -> float:
    """Milliseconds, and no negative zero; the evidence has no finer step."""
    return math.copysign(round(abs(float(value)), 3), value) + 0.0
