"""The relabellings of an A/A run show what its scatter makes of equal arms, and of dearer ones."""

import math
import random
from collections.abc import Sequence

import msgspec
import pytest

from bench.ab_power.counting import ComparedRun
from bench.ab_power.relabelled import MAX_PAIRS, Means, Relabelled, false_alarms, power, relabelled
from bench.ab_power.text import of_relabellings
from crashloop.slo.compare import BASELINE, TREATMENT, Block, Effect, EffectReading, compare


def pair(turn: int, ratio: float, before: float) -> tuple[Block, Block]:
    """The arms change places after every other pair, and the treatment's host was busier before."""
    places = ("a", "b") if turn % 4 in (0, 3) else ("b", "a")
    return (
        Block(arm=BASELINE, samples=(1.0,), turn=turn, place=places[0], before=0.0),
        Block(arm=TREATMENT, samples=(ratio,), turn=turn, place=places[1], before=before),
    )


def effect(seed: int, *, pairs: int = 8, shift: float = 0.0) -> Effect:
    noise = random.Random(seed)
    numbers = [(math.exp(noise.gauss(shift, 0.02)), noise.gauss(0, 0.05)) for _ in range(pairs)]
    blocks = [block for turn, (ratio, before) in enumerate(numbers) for block in pair(turn, ratio, before)]
    return compare(f"figure {seed}", blocks, percentile=None, primary=True)


def labelled(effects: list[Effect]) -> Sequence[Means]:
    found = relabelled(effects)
    assert found is not None
    return found


def test_about_one_in_twenty_relabellings_of_equal_arms_is_a_false_alarm() -> None:
    found = [false_alarms(labelled([effect(3 * run), effect(3 * run + 1), effect(3 * run + 2)])) for run in range(12)]
    assert all(each.labellings == 256 for each in found)
    assert sum(each.found for each in found) / (12 * 256) < 0.06


def test_pairs_that_all_agree_are_an_alarm_in_the_labelling_of_the_run_and_few_others() -> None:
    found = false_alarms(labelled([effect(1, shift=1.0)]))
    assert 2 <= found.found <= 20


def test_effects_are_relabelled_together() -> None:
    one, other = effect(1, shift=1.0), effect(2)
    alone, both = false_alarms(labelled([one])), false_alarms(labelled([one, other]))
    assert both.found <= alone.found + 256 // 20


def test_a_large_planted_difference_is_seen_in_nearly_all_relabellings_and_none_in_few() -> None:
    effects = labelled([effect(1), effect(2)])
    large, none, cheaper = (power(effects, 0, ratio) for ratio in (1.2, 1.0, 1 / 1.2))
    assert large.found >= 0.99 * 256
    assert none.found <= 0.05 * 256
    assert cheaper == Relabelled(0, 256)


def test_the_power_of_relabellings_is_that_of_new_runs_with_the_same_scatter() -> None:
    found = [power(labelled([effect(run)]), 0, 1.02) for run in range(40)]
    again = [effect(run, shift=math.log(1.02)).reading is EffectReading.HIGHER for run in range(200, 500)]
    share = sum(each.found for each in found) / (40 * 256)
    assert share == pytest.approx(sum(again) / 300, abs=0.1)


@pytest.mark.parametrize(
    "effects",
    [
        [],
        [effect(1, pairs=1)],
        [effect(1, pairs=MAX_PAIRS + 1)],
        [effect(1, pairs=6), effect(2, pairs=8)],
        [msgspec.structs.replace(effect(1), disturbances={})],
    ],
    ids=["no effect", "one pair", "too many pairs", "pairs of different number", "a run of an earlier version"],
)
def test_without_all_pairs_nothing_is_said(effects: list[Effect]) -> None:
    assert relabelled(effects) is None


def test_only_runs_of_equal_kubelets_are_relabelled() -> None:
    effects = {"figure": effect(1), "other": effect(2)}
    sentence = of_relabellings(ComparedRun(treatment="ab-kubelet: A/A", took_s=1.0, effects=effects))
    assert sentence == (
        "of 256 relabellings of its pairs 3.1 % call a difference. 5 % more would be called higher in so many of them: "
        "figure 98.4 %, other 93.8 %."
    )
    assert of_relabellings(ComparedRun(treatment="ab-kubelet: dearer", took_s=1.0, effects=effects)) is None
