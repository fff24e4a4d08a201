"""Interleaved blocks tell an effect from drift and from noise."""

import numpy as np
import pytest

from crashloop.slo.compare import Block, Effect, EffectReading, compare, decided

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


def test_an_effect_of_the_size_of_the_drift_is_seen_since_pairs_share_it() -> None:
    noisy = (1.0, 1.0, 1.6, 1.6, 1.0, 1.0, 1.6, 1.6)
    assert compare("start-up", blocks(1.3, drift=noisy)).reading is EffectReading.HIGHER


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

    assert compare("x", pairs(1.0, 1.10, 1.02, 1.08), percentile=None).reading is EffectReading.UNDECIDED
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


def pairs_of(*ratios: float, turned: bool = False, places: bool = False) -> list[Block]:
    """Pairs with these ratios: arms alternate in order and place, or always have the same."""
    found = []
    for index, ratio in enumerate(ratios):
        swaps = not turned and index % 4 in (1, 2)
        baseline = Block(arm="baseline", samples=(1.0,), place=("b" if swaps else "a") if places else "")
        treatment = Block(arm="treatment", samples=(ratio,), place=("a" if swaps else "b") if places else "")
        found += [treatment, baseline] if not turned and index % 2 else [baseline, treatment]
    return found


def test_the_sentence_of_a_difference_has_both_arms_the_interval_and_the_probability() -> None:
    assert compare("relist", pairs_of(3, 3.1, 2.9, 3), percentile=None).sentence == (
        "relist: higher. mean 3 s against 1 s, ratio 2.999 (95 % interval 2.872 to 3.132), p below 0.001, "
        "4 pairs of blocks, 4 and 4 samples."
    )


def test_no_difference_is_claimed_only_if_one_as_large_as_the_margin_is_excluded() -> None:
    close = compare("relist", pairs_of(1.01, 0.99, 1.005, 0.995, 1.0, 1.0), percentile=None)
    assert close.reading is EffectReading.EQUIVALENT
    assert close.sentence.endswith("It is smaller than 5 % (p below 0.001).")
    wide = compare("relist", pairs_of(1.2, 0.85, 1.1, 0.9, 1.0, 1.0), percentile=None)
    assert wide.reading is EffectReading.UNDECIDED
    assert wide.smallest_visible == pytest.approx(1.17, abs=0.03)
    assert wide.sentence.endswith("% would have been found with a power of 80 %.")


def test_a_small_sure_difference_is_a_difference_below_the_margin() -> None:
    effect = compare("relist", pairs_of(1.02, 1.021, 1.019, 1.02, 1.022, 1.018), percentile=None)
    assert effect.reading is EffectReading.HIGHER
    assert "It is smaller than 5 %" in effect.sentence


def test_arms_that_never_changed_places_or_order_leave_an_effect_that_may_be_theirs() -> None:
    fixed = compare("relist", pairs_of(2, 2.1, 2, 2.1, turned=True, places=True), percentile=None)
    assert fixed.notes == (
        "The arms never changed places, so the effect includes any difference between the two.",
        "The arms always had the same order, so the effect includes any drift from block to block.",
    )
    assert compare("relist", pairs_of(2, 2.1, 2, 2.1, places=True), percentile=None).notes == ()


def test_blocks_of_one_turn_have_no_order() -> None:
    at_once = [
        Block(arm=arm, samples=(value,), turn=turn)
        for turn in range(4)
        for arm, value in (("baseline", 1.0), ("treatment", 2.0 + turn / 10))
    ]
    assert compare("relist", at_once, percentile=None).notes == ()


def test_several_primary_effects_share_the_probability_of_a_false_alarm() -> None:
    one = compare("a", pairs_of(1.1, 1.2, 1.15, 1.05), percentile=None, primary=True, among=2)
    other = compare("b", pairs_of(1.2, 0.9, 1.1, 1.0), percentile=None, primary=True, among=2)
    assert one.reading is EffectReading.HIGHER
    assert one.p_value is not None
    found = decided([one, other])
    assert found[0].p_value == pytest.approx(2 * one.p_value)
    assert found[0].reading is EffectReading.UNDECIDED
    assert "by Holm among 2 primary effects" in found[0].sentence


def test_exploratory_effects_do_not_weaken_primary_ones() -> None:
    one = compare("a", pairs_of(1.1, 1.2, 1.15, 1.05), percentile=None, primary=True)
    others = [compare(name, pairs_of(1.2, 0.9, 1.1, 1.0), percentile=None) for name in "bcd"]
    assert decided([one, *others])[0].p_value == one.p_value


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


def test_a_primary_effect_without_numbers_still_counts_as_a_question() -> None:
    one = compare("a", pairs_of(1.1, 1.2, 1.15, 1.05), percentile=None, primary=True, among=2)
    none = compare("b", [], percentile=None, primary=True, among=2)
    assert one.p_value is not None
    assert [each.p_value for each in decided([one, none])] == [pytest.approx(2 * one.p_value), None]
