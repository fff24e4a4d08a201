"""A histogram of the events in a window, as exact as its buckets.

At a bucket's edge the number of samples `<= edge` is exact. Anywhere else only the surrounding buckets are known: then both
edges are given, and a value between them is interpolated (linearly, as Prometheus does) and reported as interpolated.
Source: Prometheus exposition format, histograms: bucket `le` counts all samples up to and including `le`.
"""

import math
from collections.abc import Iterable

import msgspec

from crashloop.slo.blocks import Effective
from crashloop.slo.estimates import CONFIDENCE, rank, wilson
from crashloop.slo.types import Interval


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
