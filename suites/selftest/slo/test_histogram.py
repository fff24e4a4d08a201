"""At a bucket's edge a histogram is exact; elsewhere both edges are given."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.slo.estimates import Effective, Histogram, percentile_of
from crashloop.slo.measurements import Interval

EDGES = (0.5, 1.0, 5.0, math.inf)
SEEN = Histogram.of([(0.5, 90), (1.0, 98), (5.0, 99), (math.inf, 100)])


def test_the_fraction_at_an_edge_is_exact() -> None:
    assert SEEN.at_most(1.0) == (98, 98)
    assert SEEN.at_most(5.0) == (99, 99)


def test_between_two_edges_only_the_edges_are_known() -> None:
    assert SEEN.at_most(2.0) == (98, 99)
    assert SEEN.at_most(0.1) == (0, 90)
    assert SEEN.at_most(60.0) == (99, 100)


def test_a_percentile_lies_within_its_bucket() -> None:
    quantile = SEEN.quantile(98)
    assert (quantile.lower, quantile.upper, quantile.value) == (0.5, 1.0, 1.0)
    quantile = SEEN.quantile(94)
    assert (quantile.lower, quantile.upper, quantile.value) == (0.5, 1.0, 0.75)


def test_a_percentile_beyond_the_last_edge_has_no_upper_one() -> None:
    quantile = SEEN.quantile(99.5)
    assert (quantile.lower, quantile.upper, quantile.value) == (5.0, math.inf, 5.0)


def test_buckets_come_in_any_order_and_add_up() -> None:
    twice = Histogram.of([(math.inf, 2), (1.0, 1), (math.inf, 3), (1.0, 3)])
    assert (twice.edges, twice.counts) == ((1.0, math.inf), (4, 5))


def test_a_bucket_read_too_early_does_not_fall_behind() -> None:
    assert Histogram.of([(1.0, 5), (2.0, 4), (math.inf, 6)]).counts == (5, 5, 6)


def test_an_empty_histogram_has_no_percentile() -> None:
    with pytest.raises(ValueError, match="0 samples"):
        Histogram.of([(1.0, 0), (math.inf, 0)]).quantile(50)


def test_the_interval_names_the_edges_around_the_percentile() -> None:
    independent = Effective(SEEN.samples, 19)
    assert SEEN.interval(98, independent) == Interval(0.5, None)
    assert SEEN.interval(50, independent) == Interval(0.0, 0.5)
    assert SEEN.interval(50, Effective(4, 3)) == Interval(0.0, 1.0)


def _histogram(samples: list[float]) -> Histogram:
    return Histogram.of((edge, sum(1 for sample in samples if sample <= edge)) for edge in EDGES)


SAMPLES = st.lists(st.floats(min_value=0.001, max_value=50), min_size=1, max_size=200)


@given(SAMPLES, st.sampled_from([50, 90, 99]))
def test_the_percentile_of_the_samples_lies_in_the_bucket_that_is_reported(
    samples: list[float], percentile: float
) -> None:
    quantile, exact = _histogram(samples).quantile(percentile), percentile_of(samples, percentile)
    assert quantile.lower < exact <= quantile.upper
    assert quantile.lower <= quantile.value <= quantile.upper


@given(SAMPLES, st.floats(min_value=0.01, max_value=60))
def test_the_true_count_lies_between_what_is_reported(samples: list[float], bound: float) -> None:
    least, most = _histogram(samples).at_most(bound)
    assert least <= sum(1 for sample in samples if sample <= bound) <= most
    assert least == most or bound not in EDGES
