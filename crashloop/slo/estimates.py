"""Percentiles, shares and histograms, and their intervals within a run, from blocks of its time.

Percentiles are *nearest rank*: p99 is the smallest value that at least 99 % of the samples do not exceed. So `p99 <= bound`
and `at least 99 % are <= bound` are the same statement, for raw samples and for histograms alike.

Theory of operation. Events of a run are not independent: restarts share relists, merged statuses, and seconds in which the
host is busy. Blocks of time that are longer than such a state are nearly independent, so the interval follows from the
differences between blocks, not between events. A ratio of sums has the variance of its blocks around it. A share has as
many *effective samples* as independent events would need for that variance (design effect; never more than there are). A
percentile's interval is that of the share below it, read back as values. All use Student's t, for there are few blocks.

The interval covers what varies within a run. Hosts also differ from run to run, which one run cannot show.
Sources: Woodruff 1952 (percentiles of clusters); Kish 1965, ch. 8 (design effect); Schmeiser 1982 (10 to 30 batches suffice).

At a bucket's edge the number of samples `<= edge` is exact. Anywhere else only the surrounding buckets are known: then both
edges are given, and a value between them is interpolated (linearly, as Prometheus does) and reported as interpolated.
Source: Prometheus exposition format, histograms: bucket `le` counts all samples up to and including `le`.

Effective samples follow from the growth of the buckets between scrapes.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from crashloop.model import student
from crashloop.slo.measurements import Interval

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


def wilson(hits: float, samples: float, *, freedom: int | None = None) -> Interval:
    """Interval of a share of `samples` (Wilson 1927), within 0 and 1; with `freedom` for samples that were estimated."""
    if samples <= 0:
        return Interval(0.0, 1.0, CONFIDENCE)
    tail = 0.5 + CONFIDENCE / 2
    z = NormalDist().inv_cdf(tail) if freedom is None else student.quantile(tail, freedom)
    share, weight = hits / samples, z * z / samples
    centre = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(share * (1 - share) / samples + weight / (4 * samples))
    # Rounding must not move a share of exactly none or all.
    lower = 0.0 if hits <= 0 else max(0.0, centre - half)
    upper = 1.0 if hits >= samples else min(1.0, centre + half)
    return Interval(lower, upper, CONFIDENCE)


BLOCK_S = 10.0
"""Several cycles of restarts at the lowest maximum, relists, and status updates of a kubelet."""
MOST_BLOCKS = 20
LEAST_BLOCKS = 3
UNKNOWN = Interval(None, None, CONFIDENCE)

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]


class Effective(NamedTuple):
    """As many independent samples would vary as much; `freedom` of their variance."""

    samples: float
    freedom: int


def blocks_in(from_ns: int, to_ns: int) -> int:
    """The number of blocks of a window; 0 if it is too short for an interval."""
    number = min(MOST_BLOCKS, int((to_ns - from_ns) / 1e9 // BLOCK_S))
    return number if number >= LEAST_BLOCKS else 0


def block_of(times_ns: ArrayLike, from_ns: int, to_ns: int) -> Places:
    """The block of every moment in a window. Raises ValueError for a window without blocks."""
    number = blocks_in(from_ns, to_ns)
    if not number:
        raise ValueError(f"a window of {(to_ns - from_ns) / 1e9:g} s; expected {LEAST_BLOCKS * BLOCK_S:g} s or more")
    share = (np.asarray(times_ns, dtype=np.int64) - from_ns) / (to_ns - from_ns)
    return np.clip((share * number).astype(np.int64), 0, number - 1)


def effective(hits: ArrayLike, samples: ArrayLike) -> Effective | None:
    """Of a share, by block; None with too few blocks that have samples."""
    counts = np.asarray(samples, dtype=np.float64)
    kept = counts > 0
    found, counts = np.asarray(hits, dtype=np.float64)[kept], counts[kept]
    if len(counts) < LEAST_BLOCKS:
        return None
    total = float(counts.sum())
    share = float(found.sum()) / total
    independent = share * (1 - share) / total
    variance = _variance_of_blocks(found, counts)
    design = max(1.0, variance / independent) if independent > 0 else 1.0
    return Effective(total / design, len(counts) - 1)


def percentile_interval(values: ArrayLike, places: Places, percentile: float) -> tuple[Interval, Effective | None]:
    """Of a percentile of samples, `places` their blocks. It ends at the largest sample: beyond it nothing is known."""
    samples = np.asarray(values, dtype=np.float64)
    ordered, found = np.sort(samples), percentile_of(samples, percentile)
    below = samples < found if found > ordered[0] else samples <= found
    size = int(places.max()) + 1
    known = effective(np.bincount(places, below, size), np.bincount(places, minlength=size))
    if known is None:
        return UNKNOWN, None
    share, count = percentile / 100, len(ordered)
    reach = _students_t(known.freedom) * math.sqrt(share * (1 - share) / known.samples)
    first, last = math.ceil(count * (share - reach)), math.floor(count * (share + reach)) + 1
    return Interval(float(ordered[max(1, first) - 1]), float(ordered[min(count, last) - 1]), CONFIDENCE), known


def ratio_interval(above: ArrayLike, below: ArrayLike) -> Interval:
    """Of sum(above) / sum(below), one of each per block; not below 0 where nothing above is."""
    tops, bottoms = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    if len(tops) < LEAST_BLOCKS or bottoms.sum() <= 0:
        return UNKNOWN
    value = float(tops.sum() / bottoms.sum())
    reach = _students_t(len(tops) - 1) * math.sqrt(_variance_of_blocks(tops, bottoms))
    lower = value - reach
    return Interval(max(0.0, lower) if tops.min() >= 0 else lower, value + reach, CONFIDENCE)


def rate_interval(times_ns: ArrayLike, from_ns: int, to_ns: int) -> Interval:
    """Of events per second in a window.

    One event more or fewer is always within it: where a window begins and ends among evenly spaced events changes as much.
    """
    number = blocks_in(from_ns, to_ns)
    if not number:
        return UNKNOWN
    counts = np.bincount(block_of(times_ns, from_ns, to_ns), minlength=number)
    long_s, events = (to_ns - from_ns) / 1e9, int(counts.sum())
    by_blocks = ratio_interval(counts, np.full(number, long_s / number)).bounds
    if by_blocks is None:
        return UNKNOWN
    lower, upper = by_blocks
    return Interval(min(lower, max(0, events - 1) / long_s), max(upper, (events + 1) / long_s), CONFIDENCE)


class Steps(NamedTuple):
    """What grew between every two scrapes of a source."""

    times_ns: Places
    """Of the scrapes, at least two."""
    grown: tuple[Numbers, ...]
    """One row per quantity."""


def sums_in_blocks(sources: Sequence[Steps]) -> tuple[Numbers, ...]:
    """Sums over all sources by block of their time, one row per quantity; empty if they cover too little of it.

    Nodes share the seconds of their run, so their blocks are not independent of each other. There is at least one source.
    """
    from_ns = min(int(each.times_ns[0]) for each in sources)
    to_ns = max(int(each.times_ns[-1]) for each in sources)
    if not blocks_in(from_ns, to_ns):
        return tuple(np.zeros(0) for _ in sources[0].grown)
    middles = [each.times_ns[:-1] + np.diff(each.times_ns) // 2 for each in sources]
    places = block_of(np.concatenate(middles), from_ns, to_ns)
    filled = np.unique(places)
    rows = zip(*(each.grown for each in sources), strict=True)
    return tuple(np.bincount(places, np.concatenate(row))[filled].astype(np.float64) for row in rows)


def _variance_of_blocks(tops: Numbers, bottoms: Numbers) -> float:
    """Of the ratio of their sums, by the differences of the blocks from it."""
    number, total = len(tops), float(bottoms.sum())
    apart = tops - bottoms * (float(tops.sum()) / total)
    return number / (number - 1) * float((apart**2).sum()) / total**2


def _students_t(freedom: int) -> float:
    return student.quantile(0.5 + CONFIDENCE / 2, freedom)


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
