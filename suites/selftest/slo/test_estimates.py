"""Percentiles are samples that were seen; intervals of shares hold them.

A verdict on few samples is weak evidence, and the words say how weak.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.slo.estimates import least_samples, percentile_of, rank, wilson
from crashloop.slo.measurements import Strength, chance_at_the_budget, strength

SAMPLES = st.lists(st.floats(min_value=0, max_value=1e6), min_size=1, max_size=200)
PERCENTILES = st.sampled_from([1, 25, 50, 90, 99, 99.9])


@pytest.mark.parametrize(
    ("percentile", "samples", "expected"),
    [(50, 1, 1), (50, 4, 2), (99, 100, 99), (99, 101, 100), (99, 25, 25), (99.9, 1000, 999), (90, 10, 9)],
)
def test_the_percentile_is_the_nearest_rank(percentile: float, samples: int, expected: int) -> None:
    assert rank(percentile, samples) == expected


@pytest.mark.parametrize(("percentile", "samples"), [(0, 5), (100, 5), (50, 0), (-1, 5)])
def test_there_is_no_such_rank(percentile: float, samples: int) -> None:
    with pytest.raises(ValueError, match="expected 0 < percentile < 100 and a sample"):
        rank(percentile, samples)


def test_below_the_least_samples_a_percentile_is_simply_the_largest() -> None:
    assert [least_samples(each) for each in (50, 90, 99, 99.9)] == [2, 10, 100, 1000]


def test_a_percentile_of_literal_samples() -> None:
    assert percentile_of([5, 1, 4, 2, 3], 50) == 3
    assert percentile_of(range(1, 101), 99) == 99


@pytest.mark.parametrize(
    ("hits", "samples", "lower", "upper"),
    # Wilson (1927), as tabulated by Brown, Cai and DasGupta (2001).
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (990, 1000, 0.9817, 0.9946)],
)
def test_the_interval_of_a_share(hits: int, samples: int, lower: float, upper: float) -> None:
    interval = wilson(hits, samples)
    assert (interval.lower, interval.upper) == pytest.approx((lower, upper), abs=1e-4)


def test_nothing_is_known_of_a_share_of_nothing() -> None:
    interval = wilson(0, 0)
    assert (interval.lower, interval.upper) == (0.0, 1.0)


@given(SAMPLES)
def test_percentiles_do_not_fall(samples: list[float]) -> None:
    values = [percentile_of(samples, each) for each in (1, 50, 90, 99)]
    assert values == sorted(values)


@given(SAMPLES, PERCENTILES, st.sampled_from([0.5, 2.0, 1024.0]))
def test_a_percentile_scales_with_its_unit(samples: list[float], percentile: float, factor: float) -> None:
    scaled = [factor * sample for sample in samples]
    assert percentile_of(scaled, percentile) == factor * percentile_of(samples, percentile)


@given(st.integers(0, 500), st.integers(1, 500))
def test_an_interval_of_a_share_holds_it(hits: int, samples: int) -> None:
    hits = min(hits, samples)
    interval = wilson(hits, samples)
    assert interval.lower is not None
    assert interval.upper is not None
    assert 0 <= interval.lower <= hits / samples <= interval.upper <= 1


@pytest.mark.parametrize(
    ("bad", "samples", "expected"),
    # The smallest numbers with 95 % evidence of p99: Hahn and Meeker 1991, table of distribution-free tolerance bounds.
    [(0, 298, Strength.WEAK), (0, 299, Strength.STRONG), (1, 472, Strength.WEAK), (1, 473, Strength.STRONG)],
)
def test_a_kept_p99_needs_299_samples_without_a_miss(bad: int, samples: int, expected: Strength) -> None:
    assert strength(bad, samples, samples, 0.01, kept=True) is expected


def test_one_of_a_hundred_is_no_proof() -> None:
    assert chance_at_the_budget(1, 100, 100, 0.01, kept=True) == pytest.approx(0.7358, abs=1e-4)


def test_a_missed_promise_is_strong_if_so_many_misses_are_rare() -> None:
    assert strength(2, 100, 100, 0.01, kept=False) is Strength.WEAK
    assert strength(4, 100, 100, 0.01, kept=False) is Strength.STRONG


def test_samples_that_come_together_count_as_few() -> None:
    assert strength(0, 900, 900, 0.01, kept=True) is Strength.STRONG
    assert strength(0, 900, 90.0, 0.01, kept=True) is Strength.WEAK
    assert strength(0, 900, None, 0.01, kept=True) is Strength.WEAK
