"""A histogram of the events in a window, as exact as its buckets, and its effective samples.

At a bucket's edge the number of samples `<= edge` is exact. Anywhere else only the surrounding buckets are known: then both
edges are given, and a value between them is interpolated (linearly, as Prometheus does) and reported as interpolated.
Source: Prometheus exposition format, histograms: bucket `le` counts all samples up to and including `le`.

Effective samples follow from the growth of the buckets between scrapes.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from crashloop.slo.estimates import CONFIDENCE, Effective, Steps, effective, rank, sums_in_blocks, wilson
from crashloop.slo.measurements import Interval


class Quantile(msgspec.Struct, frozen=True):
    """Where a percentile lies: above `lower`, at most `upper`; `value` is interpolated between them."""

    lower: float
    upper: float
    value: float


class Histogram(msgspec.Struct, frozen=True):
    """Cumulative counts by upper edge, in order; the last edge is infinity."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, buckets: Iterable[tuple[float, float]]) -> "Histogram":
        """From (upper edge, cumulative count) in any order; equal edges are added up. Counts never fall along the edges.

        A scrape reads the buckets one after the other while they grow, so that a later one can be behind an earlier one.
        """
        total: dict[float, float] = {}
        for edge, count in buckets:
            total[edge] = total.get(edge, 0.0) + count
        edges = tuple(sorted(total))
        counts, highest = [], 0
        for edge in edges:
            highest = max(highest, round(total[edge]))
            counts.append(highest)
        return cls(edges, tuple(counts))

    @property
    def samples(self) -> int:
        return self.counts[-1] if self.counts else 0

    def at_most(self, bound: float) -> tuple[int, int]:
        """Bounds of the number of samples `<= bound`; both are the same at an edge."""
        least = max((count for edge, count in self._each if edge <= bound), default=0)
        if bound in self.edges:
            return least, least
        return least, min((count for edge, count in self._each if edge > bound), default=self.samples)

    def quantile(self, percentile: float) -> Quantile:
        """Where the percentile lies. Raises ValueError without samples."""
        return self._at(rank(percentile, self.samples))

    def interval(self, percentile: float, known: Effective) -> Interval:
        """Edges around the percentile: the ranks by Wilson, then their buckets."""
        spread = wilson(percentile / 100 * known.samples, known.samples, freedom=known.freedom)
        assert spread.lower is not None
        assert spread.upper is not None
        lowest = self._at(max(1, math.ceil(spread.lower * self.samples))).lower
        highest = self._at(min(self.samples, math.ceil(spread.upper * self.samples))).upper
        return Interval(lowest, highest if math.isfinite(highest) else None, CONFIDENCE)

    @property
    def _each(self) -> Iterable[tuple[float, int]]:
        return zip(self.edges, self.counts, strict=True)

    def _at(self, which: int) -> Quantile:
        lower, before = 0.0, 0
        for edge, count in self._each:
            if count >= which:
                inside = (which - before) / (count - before)
                value = lower + (edge - lower) * inside if math.isfinite(edge) else lower
                return Quantile(lower, edge, value)
            lower, before = edge, count
        raise ValueError(f"sample {which} of {self.samples}: there is none")


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
    shares = [_counts_within(buckets, edge) for edge in edges]
    return effective(*next((each for each in shares if _varies_by_block(*each)), shares[0]))


def _counts_within(buckets: Sequence[Bucket], edge: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Samples up to an edge, and all samples, by block."""
    sources = [
        [each for each in buckets if each.times_ns is times]
        for times in {id(each.times_ns): each.times_ns for each in buckets}.values()
    ]
    hits, samples = sums_in_blocks(
        [
            Steps(each[0].times_ns, (_steps_of_buckets(each, edge), _steps_of_buckets(each, math.inf)))
            for each in sources
        ]
    )
    return hits, samples


def _varies_by_block(hits: NDArray[np.float64], samples: NDArray[np.float64]) -> bool:
    return 0 < float(hits.sum()) < float(samples.sum())


def _steps_of_buckets(buckets: Sequence[Bucket], edge: float) -> NDArray[np.float64]:
    """The growth at an edge, over all series."""
    grown = np.zeros_like(buckets[0].steps)
    for each in buckets:
        if each.edge == edge:
            grown = grown + each.steps
    return grown
