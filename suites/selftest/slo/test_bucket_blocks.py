"""The effective samples of a histogram: how much its shares vary from block to block."""

import math

import numpy as np
import pytest

from crashloop.slo.estimates import Bucket, Quantile, effective_within
from suites.selftest.kit.slo_kit import ns

TIMES = np.asarray([ns(10 * at) for at in range(7)])


def buckets(below: list[float], all_of: list[float], edge: float = 1.0) -> list[Bucket]:
    """Counts up to the lower edge, and up to all edges above it, between scrapes 10 s apart."""
    counts = ((edge, below), (2 * edge, all_of), (math.inf, all_of))
    return [Bucket(at, TIMES, np.asarray(each, dtype=np.float64)) for at, each in counts]


def test_shares_that_vary_more_than_by_chance_have_fewer_effective_samples_than_samples() -> None:
    known = effective_within(buckets([100, 0, 100, 0, 100, 0], 6 * [100.0]), Quantile(0.0, 1.0, 0.5))
    assert known is not None
    assert known.samples == pytest.approx(5)
    assert known.freedom == 5


def test_where_all_samples_are_below_the_upper_edge_the_lower_one_shows_how_they_vary() -> None:
    """A p99 in the last bucket that is filled: its upper edge has every sample of every block."""
    known = effective_within(buckets([100, 0, 100, 0, 100, 0], 6 * [100.0]), Quantile(1.0, 2.0, 1.9))
    assert known is not None
    assert known.samples == pytest.approx(5)


def test_beyond_the_last_edge_the_lower_one_counts() -> None:
    known = effective_within(buckets([100, 0, 100, 0, 100, 0], 6 * [100.0], edge=0.5), Quantile(0.5, math.inf, 0.5))
    assert known is not None
    assert known.samples == pytest.approx(5)


def test_samples_of_one_bucket_count_as_independent() -> None:
    known = effective_within(buckets(6 * [100.0], 6 * [100.0]), Quantile(0.0, 1.0, 0.5))
    assert known is not None
    assert known.samples == 600
