"""Holm's adjustment."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.slo.compare import holm

PROBABILITIES = st.lists(st.floats(0, 1), max_size=12)


def test_the_smallest_counts_for_all_tests_and_the_largest_for_one() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))


def test_one_test_needs_no_adjustment() -> None:
    assert (holm([0.04]), holm([])) == ((0.04,), ())


@given(PROBABILITIES)
def test_no_probability_falls_and_none_exceeds_one(found: list[float]) -> None:
    assert all(before <= after <= 1 for before, after in zip(found, holm(found), strict=True))


@given(PROBABILITIES)
def test_the_order_of_the_tests_is_kept(found: list[float]) -> None:
    adjusted = dict(zip(found, holm(found), strict=True))
    assert [adjusted[each] for each in sorted(adjusted)] == sorted(adjusted.values())
