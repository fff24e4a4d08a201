"""The mean of paired differences: right on average, wrong as often as it says, and blind to what disturbs pairs.

Holm's adjustment.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.slo.compare import (
    PairedMean,
    holm,
    interval,
    p_of_difference,
    p_of_inequivalence,
    paired_mean,
    smallest_visible,
)

TRIALS = 2000
DIFFERENCES = st.lists(st.floats(-3, 3), min_size=3, max_size=30)


def test_the_mean_of_literal_differences() -> None:
    found = paired_mean([1.0, 2.0, 3.0])
    assert (found.effect, found.scatter, found.freedom) == pytest.approx((2.0, 1.0, 2))
    assert interval(found, 0.95) == pytest.approx((2 - 4.3027 / 3**0.5, 2 + 4.3027 / 3**0.5), abs=1e-4)


@given(DIFFERENCES, st.floats(-2, 2))
def test_a_shift_of_all_differences_shifts_the_effect(differences: list[float], shift: float) -> None:
    one, other = paired_mean(differences), paired_mean([each + shift for each in differences])
    assert other.effect == pytest.approx(one.effect + shift, abs=1e-9)
    assert other.error == pytest.approx(one.error, abs=1e-6)


@given(DIFFERENCES)
def test_to_exchange_the_arms_turns_the_effect_around(differences: list[float]) -> None:
    one, other = paired_mean(differences), paired_mean([-each for each in differences])
    assert other.effect == pytest.approx(-one.effect)
    assert p_of_difference(other) == pytest.approx(p_of_difference(one))


@given(DIFFERENCES)
def test_a_difference_is_significant_exactly_if_the_interval_excludes_none(differences: list[float]) -> None:
    found = paired_mean(differences)
    lower, upper = interval(found, 0.95)
    if abs(p_of_difference(found) - 0.05) > 1e-6:
        assert (p_of_difference(found) < 0.05) is not (lower <= 0 <= upper)


@given(DIFFERENCES, st.floats(0.01, 1))
def test_two_one_sided_tests_are_the_90_percent_interval_within_the_margin(
    differences: list[float], margin: float
) -> None:
    found = paired_mean(differences)
    p_value = p_of_inequivalence(found, margin)
    lower, upper = interval(found, 0.9)
    if abs(p_value - 0.05) > 1e-6:
        assert (p_value < 0.05) is (-margin < lower and upper < margin)


def test_a_difference_of_places_is_no_effect_where_arms_change_places() -> None:
    places = [1.0, -1.0, -1.0, 1.0] * 2
    differences = [0.05 + 0.3 * place + noise for place, noise in zip(places, (0.01, -0.01) * 4, strict=True)]
    found = paired_mean(differences, (places,))
    assert found.effect == pytest.approx(0.05)
    assert found.scatter == pytest.approx(0.01, rel=0.2)
    assert p_of_difference(found) < 0.001 < p_of_difference(paired_mean(differences))


def test_a_covariate_that_was_worse_for_one_arm_is_no_effect() -> None:
    busier = [0.0, 0.2, 0.4, 0.1, 0.3, 0.6, 0.5, 0.2]
    found = paired_mean([0.02 + 0.5 * more for more in busier], (busier,))
    assert found.effect == pytest.approx(0.02)


def test_what_never_varies_or_repeats_another_is_left_out() -> None:
    differences = [0.1, 0.2, 0.3, 0.1, 0.2, 0.3]
    turns = [1.0, -1.0] * 3
    assert paired_mean(differences, ([1.0] * 6,)) == paired_mean(differences)
    assert paired_mean(differences, (turns, turns)).freedom == 4


def test_few_pairs_are_not_adjusted() -> None:
    assert paired_mean([0.1, 0.2, 0.1, 0.2], ([1.0, -1.0, 1.0, -1.0],)).freedom == 3


def test_one_pair_is_no_mean() -> None:
    with pytest.raises(ValueError, match="1 pairs; expected 2 or more"):
        paired_mean([1.0])


def test_pairs_without_any_scatter_are_sure() -> None:
    assert p_of_difference(PairedMean(0.0, 0.0, 0.0, 3)) == 1.0
    assert p_of_difference(PairedMean(0.1, 0.0, 0.0, 3)) == 0.0
    assert p_of_inequivalence(PairedMean(0.1, 0.0, 0.0, 3), 0.2) == 0.0
    assert p_of_inequivalence(PairedMean(0.3, 0.0, 0.0, 3), 0.2) == 1.0


@pytest.mark.parametrize("pairs", [3, 8, 20])
def test_the_smallest_visible_effect_is_found_with_the_stated_power(pairs: int) -> None:
    generator = np.random.default_rng(11)
    scatter = 0.03
    typical = PairedMean(0.0, scatter / pairs**0.5, scatter, pairs - 1)
    effect = smallest_visible(typical, level=0.05)
    drawn = effect + scatter * generator.standard_normal((TRIALS, pairs))
    hits = sum(p_of_difference(paired_mean(each.tolist())) <= 0.05 for each in drawn)
    # The sum of two quantiles is an approximation that errs on the side of power with few degrees of freedom.
    assert 0.76 <= hits / TRIALS <= 0.93


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
