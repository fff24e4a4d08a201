"""Percentiles, shares and ratios, with the interval of a repeated run.

Percentiles are *nearest rank*: p99 is the smallest value that at least 99 % of the samples do not exceed. So `p99 <= bound`
and `at least 99 % are <= bound` are the same statement, for raw samples and for histograms alike.
All draws come from a generator with a stated seed: the same samples give the same interval.
"""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crashloop.slo.types import Interval

SEED = 20_240_603
RESAMPLES = 4000
CONFIDENCE = 0.95
BLOCKS = 20
"""Blocks per window for the variation of a rate."""


def rank(percentile: float, samples: int) -> int:
    """Rank of the percentile among the sorted samples, from 1 (0 < percentile < 100). Raises ValueError for no samples."""
    if samples < 1 or not 0 < percentile < 100:
        raise ValueError(f"percentile {percentile} of {samples} samples: expected 0 < percentile < 100 and a sample")
    return math.ceil(Fraction(str(percentile)) * samples / 100)


def least_samples(percentile: float) -> int:
    """The fewest samples whose percentile is not simply the largest: 100 for p99, 10 for p90, 2 for p50."""
    beyond = 1 - Fraction(str(percentile)) / 100
    return math.ceil(1 / beyond)


def percentile_of(values: ArrayLike, percentile: float) -> float:
    """The percentile by nearest rank."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    return float(ordered[rank(percentile, len(ordered)) - 1])


def percentile_interval(values: ArrayLike, percentile: float, *, confidence: float = CONFIDENCE) -> Interval:
    """Bootstrap interval of a percentile: it lies within the samples, so it cannot extend to unseen values.

    The k-th smallest of n draws with replacement is the sample at ceil(n U), U ~ Beta(k, n - k + 1): so ranks are drawn
    instead of samples.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    count = len(ordered)
    which = rank(percentile, count)
    drawn = np.random.default_rng(SEED).beta(which, count - which + 1, RESAMPLES)
    at = ordered[np.clip(np.ceil(count * drawn).astype(np.int64), 1, count) - 1]
    return middle(at, confidence)


def wilson(hits: float, samples: int, *, confidence: float = CONFIDENCE) -> Interval:
    """Interval of a share of `samples` (Wilson 1927), within 0 and 1."""
    if samples <= 0:
        return Interval(0.0, 1.0, confidence)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share, weight = hits / samples, z * z / samples
    centre = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(share * (1 - share) / samples + weight / (4 * samples))
    # Rounding must not move a share of exactly none or all.
    lower = 0.0 if hits <= 0 else max(0.0, centre - half)
    upper = 1.0 if hits >= samples else min(1.0, centre + half)
    return Interval(lower, upper, confidence)


def ratio_interval(above: ArrayLike, below: ArrayLike, *, confidence: float = CONFIDENCE) -> Interval:
    """Bootstrap interval of sum(above) / sum(below), drawn over blocks, the intervals between two scrapes."""
    numerators, denominators = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    if len(numerators) < 2:
        return Interval(None, None, confidence)
    drawn = np.random.default_rng(SEED).integers(0, len(numerators), (RESAMPLES, len(numerators)))
    tops, bottoms = numerators[drawn].sum(axis=1), denominators[drawn].sum(axis=1)
    usable = bottoms > 0
    if not usable.any():
        return Interval(None, None, confidence)
    return middle(tops[usable] / bottoms[usable], confidence)


def rate_interval(times_ns: ArrayLike, from_ns: int, to_ns: int, *, confidence: float = CONFIDENCE) -> Interval:
    """Bootstrap interval of events per second within a window, drawn over blocks of it."""
    counts, _ = np.histogram(np.asarray(times_ns, dtype=np.int64), bins=BLOCKS, range=(from_ns, to_ns))
    return ratio_interval(counts, np.full(BLOCKS, (to_ns - from_ns) / 1e9 / BLOCKS), confidence=confidence)


def middle(drawn: NDArray[np.float64], confidence: float = CONFIDENCE) -> Interval:
    """The interval that leaves out equal shares of the drawn values on both sides."""
    tail = 50 * (1 - confidence)
    lower, upper = np.percentile(drawn, [tail, 100 - tail])
    return Interval(float(lower), float(upper), confidence)
