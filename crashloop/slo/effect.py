"""An effect of a treatment against a baseline: its numbers, its reading, and its sentence."""

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from crashloop.slo.holm import holm
from crashloop.slo.paired import MIN_PAIRS, POWER
from crashloop.slo.text import number
from crashloop.slo.types import Interval

LEVEL = 0.05
"""Probability of a false alarm: of one exploratory effect, or of any among all primary ones. Equivalence is shown per effect."""


class EffectReading(StrEnum):
    """The reading of an effect."""

    HIGHER = "higher"
    LOWER = "lower"
    EQUIVALENT = "equivalent"
    """Shown to be smaller than the margin."""
    UNDECIDED = "undecided"
    """Neither a difference nor its absence was shown."""
    TOO_LITTLE = "too little to say"
    NOT_SEEN = "no difference seen"
    """Written by versions that had no test of equivalence."""


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """Treatment against baseline."""

    what: str
    statistic: str
    unit: str
    reading: EffectReading
    sentence: str
    pairs: int
    samples: tuple[int, int]
    """Of baseline and treatment."""
    primary: bool = False
    """Named as a question before the run; others are exploratory."""
    baseline: float | None = None
    treatment: float | None = None
    ratio: float | None = None
    """Treatment divided by baseline: the geometric mean over the pairs, adjusted for disturbances."""
    ratio_interval: Interval | None = None
    scatter: float | None = None
    """Standard deviation of one pair's log ratio."""
    p_value: float | None = None
    """Of a difference; by Holm where it is a primary effect among several."""
    p_equivalence: float | None = None
    """Of a difference as large as the margin (TOST)."""
    margin: float | None = None
    """Ratios within 1 / (1 + margin) and 1 + margin are equivalent."""
    smallest_visible: float | None = None
    """The ratio, above 1, that would have been found with a power of 80 %."""
    log_ratios: tuple[float, ...] = ()
    """Of the single pairs, in the order of time."""
    disturbances: dict[str, tuple[float, ...]] = {}
    """What the ratio is adjusted for: place, order and `before`, each with one number per pair. Everything else follows from
    them and `log_ratios`."""
    notes: tuple[str, ...] = ()
    """What the effect cannot be separated from."""


def decided(effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """The effects with their readings. Probabilities of the primary ones are adjusted by Holm, those of others are not.

    A primary effect without numbers still counts as one of them: their number is that of the questions before the run.
    """
    found = list(effects)
    primary = [index for index, each in enumerate(found) if each.primary]
    adjusted = holm([1.0 if (p_value := found[index].p_value) is None else p_value for index in primary])
    for index, p_value in zip(primary, adjusted, strict=True):
        if found[index].p_value is not None:
            found[index] = msgspec.structs.replace(found[index], p_value=p_value)
    return tuple(_read(each, among=len(primary)) for each in found)


def _read(effect: Effect, *, among: int) -> Effect:
    if effect.p_value is None or effect.ratio is None:
        return effect
    effect = msgspec.structs.replace(effect, reading=_reading(effect))
    return msgspec.structs.replace(effect, sentence=_sentence(effect, among))


def _reading(effect: Effect) -> EffectReading:
    assert effect.p_value is not None
    assert effect.ratio is not None
    if effect.p_value <= LEVEL:
        return EffectReading.HIGHER if effect.ratio > 1 else EffectReading.LOWER
    return EffectReading.EQUIVALENT if _is_equivalent(effect) else EffectReading.UNDECIDED


def _is_equivalent(effect: Effect) -> bool:
    return effect.p_equivalence is not None and effect.p_equivalence <= LEVEL


def too_little(what: str, pairs: int, samples: Sequence[int], needed: int) -> str:
    """The sentence of an effect without numbers."""
    return (
        f"{what}: {EffectReading.TOO_LITTLE}. {pairs} pairs of blocks with {samples[0]} and {samples[1]} "
        f"samples; {MIN_PAIRS} pairs and {needed} samples in each arm are needed."
    )


def _sentence(effect: Effect, among: int) -> str:
    assert effect.ratio is not None
    assert effect.ratio_interval is not None
    assert effect.baseline is not None
    assert effect.treatment is not None
    assert effect.p_value is not None
    lower, upper = effect.ratio_interval.lower or 0.0, effect.ratio_interval.upper or math.inf
    by_holm = f" by Holm among {among} primary effects" if effect.primary and among > 1 else ""
    sentence = (
        f"{effect.what}: {effect.reading}. {effect.statistic} {number(effect.treatment)} {effect.unit} against "
        f"{number(effect.baseline)} {effect.unit}, ratio {ratio_in_words(effect.ratio)} "
        f"({100 * effect.ratio_interval.confidence:g} % interval {ratio_in_words(lower)} to {ratio_in_words(upper)}), "
        f"p {_probability(effect.p_value)}{by_holm}, {effect.pairs} pairs of blocks, "
        f"{effect.samples[0]:,} and {effect.samples[1]:,} samples."
    )
    return " ".join((sentence, *_about_size(effect), *effect.notes))


def _about_size(effect: Effect) -> Iterable[str]:
    if _is_equivalent(effect) and effect.margin is not None:
        yield f"It is smaller than {number(100 * effect.margin)} % (p {_probability(effect.p_equivalence or 0.0)})."
    elif effect.reading is EffectReading.UNDECIDED and effect.smallest_visible is not None:
        size = number(100 * (effect.smallest_visible - 1))
        yield f"A difference of {size} % would have been found with a power of {100 * POWER:g} %."


def _probability(value: float) -> str:
    """A probability; below a thousandth its digits depend on the model of the scatter more than on the data."""
    return "below 0.001" if value < 0.001 else number(value)


def ratio_in_words(ratio: float) -> str:
    """A ratio with four digits, since differences of percents are looked for."""
    return f"{ratio:.4g}" if ratio < 1000 else number(ratio)
