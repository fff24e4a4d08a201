"""Percentiles and shares.

Percentiles are *nearest rank*: p99 is the smallest value that at least 99 % of the samples do not exceed. So `p99 <= bound`
and `at least 99 % are <= bound` are the same statement, for raw samples and for histograms alike.
"""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from crashloop.model import student
from crashloop.slo.types import Interval

CONFIDENCE = 0.95


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


def wilson(hits: float, samples: float, *, confidence: float = CONFIDENCE, freedom: int | None = None) -> Interval:
    """Interval of a share of `samples` (Wilson 1927), within 0 and 1; with `freedom` for samples that were estimated."""
    if samples <= 0:
        return Interval(0.0, 1.0, confidence)
    tail = 0.5 + confidence / 2
    z = NormalDist().inv_cdf(tail) if freedom is None else student.quantile(tail, freedom)
    share, weight = hits / samples, z * z / samples
    centre = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(share * (1 - share) / samples + weight / (4 * samples))
    # Rounding must not move a share of exactly none or all.
    lower = 0.0 if hits <= 0 else max(0.0, centre - half)
    upper = 1.0 if hits >= samples else min(1.0, centre + half)
    return Interval(lower, upper, confidence)
