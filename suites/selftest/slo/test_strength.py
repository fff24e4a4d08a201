"""A verdict on few samples is weak evidence, and the words say how weak."""

import pytest

from crashloop.slo.measurements import Strength, chance_at_the_budget, strength


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
