"""Student's t is that of the tables, and a distribution."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.model.student import beyond, quantile, within

FREEDOMS = st.integers(1, 200)


@pytest.mark.parametrize(
    ("freedom", "probability", "expected"),
    [
        (1, 0.975, 12.7062),
        (2, 0.975, 4.3027),
        (3, 0.95, 2.3534),
        (4, 0.995, 4.6041),
        (5, 0.975, 2.5706),
        (7, 0.8, 0.8960),
        (10, 0.975, 2.2281),
        (30, 0.975, 2.0423),
        (120, 0.95, 1.6577),
    ],
)
def test_quantiles_are_those_of_the_tables(freedom: int, probability: float, expected: float) -> None:
    assert quantile(probability, freedom) == pytest.approx(expected, abs=5e-5)


@given(FREEDOMS, st.floats(0.5, 0.9999))
def test_a_quantile_is_exceeded_with_the_rest_of_the_probability(freedom: int, probability: float) -> None:
    assert beyond(quantile(probability, freedom), freedom) == pytest.approx(1 - probability, abs=1e-9)


@given(FREEDOMS, st.floats(-50, 50))
def test_both_tails_together_are_everything(freedom: int, t: float) -> None:
    assert beyond(t, freedom) + beyond(-t, freedom) == pytest.approx(1)
    assert 0 <= beyond(t, freedom) <= 1


@given(FREEDOMS, st.floats(0, 40), st.floats(0, 10))
def test_more_lies_within_wider_bounds(freedom: int, t: float, more: float) -> None:
    assert within(t, freedom) <= within(t + more, freedom) + 1e-12


def test_nothing_lies_beyond_infinity() -> None:
    assert (within(math.inf, 3), within(0.0, 3)) == (1.0, 0.0)


def test_impossible_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="0 degrees of freedom; expected 1 or more"):
        within(1.0, 0)
    with pytest.raises(ValueError, match=r"probability 0\.4; expected 0\.5 to below 1"):
        quantile(0.4, 3)
