"""Comparisons see 5 % and raise no more false alarms than they say: simulated, with the scatter of recorded runs."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

from crashloop.slo.compare import Block, Effect, EffectReading, compare, decided

TRIALS = 400
SCATTER = 0.029
"""Standard deviation of a pair's log ratio: kubelet CPU in five recorded runs, pooled."""
DRIFT = 0.01
"""Of the host, per block: as in the worst of these runs."""
ROUNDS = 10
"""Of the stress profile ab-kubelet."""
FALSE_ALARMS = 0.08
"""At most: 5 % of 400 trials, and what chance adds in one of a thousand such simulations."""


def blocks(effect: float, pairs: int, chance: np.random.Generator, *, alternates: bool = True) -> Iterator[Block]:
    """One experiment on a host that becomes slower from block to block, with a slower second place."""
    for number in range(pairs):
        order = ("treatment", "baseline") if alternates and number % 2 else ("baseline", "treatment")
        exchanged = alternates and number % 4 in (1, 2)
        for at, arm in enumerate(order):
            place = "b" if (arm == "treatment") is not exchanged else "a"
            log = math.log(effect) * (arm == "treatment") + DRIFT * (2 * number + at) + 0.02 * (place == "b")
            noise = SCATTER / math.sqrt(2) * chance.standard_normal()
            yield Block(arm=arm, samples=(math.exp(log + noise),), place=place if alternates else "")


def experiments(effect: float, pairs: int, *, alternates: bool = True) -> Iterator[Effect]:
    chance = np.random.default_rng(29)
    for _ in range(TRIALS):
        yield compare("cpu", list(blocks(effect, pairs, chance, alternates=alternates)), percentile=None)


def share(effects: Iterator[Effect], *readings: EffectReading) -> float:
    return sum(each.reading in readings for each in effects) / TRIALS


DIFFERENT = (EffectReading.HIGHER, EffectReading.LOWER)


def test_more_pairs_see_more() -> None:
    power = [share(experiments(1.05, pairs), EffectReading.HIGHER) for pairs in (4, 8, 16)]
    assert power == sorted(power)
    assert power[-1] >= 0.99


@pytest.mark.parametrize("pairs", [4, 10, 20])
def test_equal_arms_differ_no_more_often_than_stated_on_a_drifting_host(pairs: int) -> None:
    assert share(experiments(1.0, pairs), *DIFFERENT) <= FALSE_ALARMS


def test_a_fixed_order_on_a_drifting_host_raises_false_alarms_and_says_so() -> None:
    found = list(experiments(1.0, 20, alternates=False))
    assert share(iter(found), *DIFFERENT) > 0.2
    assert all("always had the same order" in each.sentence for each in found)


def test_an_effect_of_the_margin_is_called_equivalent_as_rarely_as_stated() -> None:
    assert (
        share((each for each in experiments(1.05, 20) if (each.p_equivalence or 0) <= 0.05), *EffectReading)
        <= FALSE_ALARMS
    )


def test_equal_arms_are_found_equivalent_with_enough_pairs() -> None:
    assert share(experiments(1.0, 20), EffectReading.EQUIVALENT) >= 0.9


def test_5_percent_among_three_primary_effects_is_seen_in_the_rounds_of_ab_kubelet() -> None:
    chance = np.random.default_rng(31)
    seen = wrong = 0
    for _ in range(TRIALS):
        three = [
            compare(name, list(blocks(effect, ROUNDS, chance)), percentile=None, primary=True, among=3)
            for name, effect in (("cpu", 1.05), ("requests", 1.0), ("lateness", 1.0))
        ]
        cpu, *others = decided(three)
        seen += cpu.reading is EffectReading.HIGHER
        wrong += any(each.reading in DIFFERENT for each in others)
    assert seen / TRIALS >= 0.8
    assert wrong / TRIALS <= FALSE_ALARMS
