"""The relabellings of an A/A run count what its scatter makes the comparison call a difference."""

import math
import random

import msgspec
import pytest

from bench.ab_power.counting import ComparedRun
from bench.ab_power.relabelled import MAX_PAIRS, Relabelled, relabelled
from bench.ab_power.text import of_relabellings
from crashloop.slo.compare import BASELINE, TREATMENT, Block, compare
from crashloop.slo.effect import Effect


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


def test_about_one_in_twenty_relabellings_of_equal_arms_is_a_false_alarm() -> None:
    found = [relabelled([effect(3 * run), effect(3 * run + 1), effect(3 * run + 2)]) for run in range(12)]
    assert all(each is not None and each.labellings == 128 for each in found)
    assert sum(each.alarms for each in found if each) / (12 * 128) < 0.06


def test_pairs_that_all_agree_are_an_alarm_in_the_labelling_of_the_run_and_few_others() -> None:
    found = relabelled([effect(1, shift=1.0)])
    assert found is not None
    assert 1 <= found.alarms <= 10


def test_effects_are_relabelled_together() -> None:
    one, other = effect(1, shift=1.0), effect(2)
    alone, both = relabelled([one]), relabelled([one, other])
    assert alone is not None
    assert both is not None
    assert both.alarms <= alone.alarms + 128 // 20


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
    effects = {"figure": effect(1, shift=1.0)}
    found = relabelled(list(effects.values()))
    assert isinstance(found, Relabelled)
    sentence = of_relabellings(ComparedRun(treatment="ab-kubelet: A/A", took_s=1.0, effects=effects))
    assert sentence is not None
    assert sentence.startswith(f"{found.alarms} of 128: ")
    assert sentence.endswith(" relabellings of its pairs call a difference.")
    assert of_relabellings(ComparedRun(treatment="ab-kubelet: dearer", took_s=1.0, effects=effects)) is None
