"""The effective samples of a histogram, from the growth of its buckets between scrapes."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crashloop.slo.blocks import Effective, effective, steps_in_blocks
from crashloop.slo.histogram import Quantile


class Bucket(NamedTuple):
    """Growth of one bucket of one source."""

    edge: float
    times_ns: NDArray[np.int64]
    """Of the scrapes in the window."""
    steps: NDArray[np.float64]
    """Between every two of them."""

    @property
    def total(self) -> float:
        return float(self.steps.sum())


def effective_within(buckets: Sequence[Bucket], quantile: Quantile) -> Effective | None:
    """Of the share at an edge of the percentile's bucket; blocks of several sources count on their own."""
    edge = quantile.upper if math.isfinite(quantile.upper) else quantile.lower
    hits: list[float] = []
    samples: list[float] = []
    for times in {id(each.times_ns): each.times_ns for each in buckets}.values():
        of_source = [each for each in buckets if each.times_ns is times]
        within, counts = steps_in_blocks(times, _steps(of_source, edge), _steps(of_source, math.inf))
        hits.extend(within)
        samples.extend(counts)
    return effective(hits, samples)


def _steps(buckets: Sequence[Bucket], edge: float) -> NDArray[np.float64]:
    """The growth at an edge, over all series."""
    grown = np.zeros_like(buckets[0].steps)
    for each in buckets:
        if each.edge == edge:
            grown = grown + each.steps
    return grown
