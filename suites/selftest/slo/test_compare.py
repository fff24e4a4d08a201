"""Interleaved blocks tell an effect from drift and from noise."""

import numpy as np
import pytest

from crashloop.slo.compare import Block, Effect, EffectReading, compare

ARMS = ("baseline", "treatment")
TRIALS = 300
DRIFT = (1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35)


def blocks(factor: float, *, each: int = 60, drift: tuple[float, ...] = DRIFT, spread: float = 0.1) -> list[Block]:
    """A/B/A/B on a host that becomes slower from block to block."""
    generator = np.random.default_rng(3)
    return [
        Block(
            arm="baseline" if index % 2 == 0 else "treatment",
            samples=tuple(slow * (factor if index % 2 else 1.0) * np.exp(spread * generator.standard_normal(each))),
        )
        for index, slow in enumerate(drift)
    ]


def test_an_effect_beyond_drift_and_noise_is_seen() -> None:
    effect = compare("start-up", blocks(2.0))
    assert (effect.reading, effect.pairs, effect.samples) == (EffectReading.HIGHER, 4, (240, 240))
    assert effect.ratio == pytest.approx(2.0 * 1.04, rel=0.1)
    assert compare("start-up", blocks(0.5)).reading is EffectReading.LOWER


def test_drift_alone_is_no_effect() -> None:
    effect = compare("start-up", blocks(1.0))
    assert effect.reading is EffectReading.NO_DIFFERENCE
    assert effect.noise == pytest.approx(1.3, rel=0.1)


def test_what_is_no_larger_than_the_noise_is_no_effect() -> None:
    noisy = (1.0, 1.0, 1.6, 1.6, 1.0, 1.0, 1.6, 1.6)
    effect = compare("start-up", blocks(1.3, drift=noisy))
    assert effect.reading is EffectReading.NO_DIFFERENCE
    assert compare("start-up", blocks(1.3, drift=(1.0,) * 8)).reading is EffectReading.HIGHER


def test_the_interval_holds_no_difference_as_often_as_it_says_where_there_is_none() -> None:
    generator = np.random.default_rng(7)
    seen = 0
    for _ in range(TRIALS):
        drawn = np.exp(0.1 * generator.standard_normal(6))
        effect = compare(
            "x", [Block(arm=arm, samples=(value,)) for arm, value in zip(ARMS * 3, drawn, strict=True)], percentile=None
        )
        assert effect.ratio_interval is not None
        seen += (effect.ratio_interval.lower or 0) <= 1 <= (effect.ratio_interval.upper or 0)
    assert 0.90 <= seen / TRIALS <= 0.99


def test_two_pairs_tell_only_what_is_large() -> None:
    def pairs(*values: float) -> list[Block]:
        return [Block(arm=arm, samples=(value,)) for arm, value in zip(ARMS * 2, values, strict=True)]

    assert compare("x", pairs(1.0, 1.10, 1.02, 1.08), percentile=None).reading is EffectReading.NO_DIFFERENCE
    assert compare("x", pairs(1.0, 2.0, 1.02, 2.1), percentile=None).reading is EffectReading.HIGHER


def test_the_same_blocks_give_the_same_effect() -> None:
    assert compare("start-up", blocks(1.1)) == compare("start-up", blocks(1.1))


def test_the_effect_does_not_depend_on_the_unit() -> None:
    in_s = blocks(2.0)
    in_ms = [Block(arm=block.arm, samples=tuple(1024 * sample for sample in block.samples)) for block in in_s]
    one, other = compare("start-up", in_s), compare("start-up", in_ms, unit="ms")
    assert one.ratio == other.ratio
    assert one.ratio_interval == other.ratio_interval
    assert other.baseline == 1024 * (one.baseline or 0)


def test_the_sentence_tells_both_arms_the_interval_and_the_noise() -> None:
    steady = [Block(arm=arm, samples=(value, value)) for arm, value in [("baseline", 1.0), ("treatment", 3.0)] * 3]
    assert compare("relist", steady).sentence == (
        "relist: higher. p50 3 s against 1 s, ratio 3 (95 % interval 3 to 3), 3 pairs of blocks, 6 and 6 samples. "
        "Blocks of the baseline differ among themselves by up to 1."
    )


@pytest.mark.parametrize("arms", ["AAB", "AB", "BBA", "A", ""])
def test_one_pair_of_blocks_is_too_little(arms: str) -> None:
    few = [Block(arm="baseline" if arm == "A" else "treatment", samples=(1.0, 2.0)) for arm in arms]
    effect = compare("start-up", few)
    assert (effect.reading, effect.ratio) == (EffectReading.TOO_LITTLE, None)
    assert effect.sentence.endswith("2 pairs and 2 samples in each arm are needed.")


def test_a_percentile_needs_its_least_samples() -> None:
    assert compare("start-up", blocks(2.0, each=20), percentile=99).reading is EffectReading.TOO_LITTLE
    assert compare("start-up", blocks(2.0, each=60), percentile=99).reading is EffectReading.HIGHER


def test_blocks_pair_with_their_neighbours_in_either_order() -> None:
    turned = [Block(arm=arm, samples=(value, value)) for arm, value in [("treatment", 2.0), ("baseline", 1.0)] * 2]
    effect = compare("start-up", turned)
    assert (effect.pairs, effect.ratio) == (2, 2.0)


def test_a_mean_is_compared_where_no_percentile_is_asked_for() -> None:
    one_value = [Block(arm=arm, samples=(value,)) for arm, value in [("baseline", 2.0), ("treatment", 6.0)] * 2]
    effect: Effect = compare("CPU per restart", one_value, percentile=None, unit="CPU s")
    assert (effect.statistic, effect.reading) == ("mean", EffectReading.HIGHER)
    assert effect.ratio == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (Block(arm="control", samples=(1.0,)), "arm 'control': expected baseline or treatment"),
        (Block(arm="baseline", samples=(0.0,)), "baseline: sample 0; expected numbers above zero"),
    ],
)
def test_impossible_blocks_are_refused(block: Block, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare("start-up", [block])
