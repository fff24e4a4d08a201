"""The effective samples of a histogram, from the growth of its buckets between scrapes."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crashloop.slo.blocks import Effective, Steps, effective, sums_in_blocks
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
    """Of the share at the upper edge of the percentile's bucket, or at the lower one where all samples are below the upper.

    Where all samples are in one bucket nothing shows how they depend on each other, and they count as independent.
    """
    edges = [edge for edge in (quantile.upper, quantile.lower) if math.isfinite(edge)]
    shares = [_within(buckets, edge) for edge in edges]
    return effective(*next((each for each in shares if _varies(*each)), shares[0]))


def _within(buckets: Sequence[Bucket], edge: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Samples up to an edge, and all samples, by block."""
    sources = [
        [each for each in buckets if each.times_ns is times]
        for times in {id(each.times_ns): each.times_ns for each in buckets}.values()
    ]
    hits, samples = sums_in_blocks(
        [Steps(each[0].times_ns, (_steps(each, edge), _steps(each, math.inf))) for each in sources]
    )
    return hits, samples


def _varies(hits: NDArray[np.float64], samples: NDArray[np.float64]) -> bool:
    return 0 < float(hits.sum()) < float(samples.sum())


def _steps(buckets: Sequence[Bucket], edge: float) -> NDArray[np.float64]:
    """The growth at an edge, over all series."""
    grown = np.zeros_like(buckets[0].steps)
    for each in buckets:
        if each.edge == edge:
            grown = grown + each.steps
    return grown
