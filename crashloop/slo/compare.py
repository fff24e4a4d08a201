"""The effect of a treatment against a baseline, from blocks of both arms next to each other in time: numbers and sentence.

Theory of operation. The mean of paired differences is adjusted for what is known to disturb pairs. Every pair gives one
difference d (here: of logarithms, so exp(d) is a ratio). The model is d = effect + sum(slope x disturbance) + noise, fitted by
least squares; the effect is its value where all disturbances are 0. A disturbance is coded so that 0 is neutral: +1 and -1 for
which arm had a place or a turn, a difference for a covariate. One that never varies cannot be separated from the effect and is
left out; so are all with few pairs, where they cost more than they give.
Sources: Deng et al. 2013 (CUPED: covariates from before the treatment); Schuirmann 1987 (TOST); Holm 1979 (several tests at once:
adjusted probabilities of error).

Theory of operation. A host drifts: caches warm, disks fill, neighbours come and go. So every block of the treatment is
paired with the adjacent block of the baseline, or with one at the same time. One pair gives one log ratio; the interval is
Student's, of their mean. Samples within a block share the block's conditions, so only more pairs narrow the interval, not
more samples. Which arm came first, which place it had, and how busy the host was before, are disturbances
(crashloop.slo.compare): with alternating orders and places they cancel out.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from crashloop.model import student
from crashloop.slo.estimates import CONFIDENCE, least_samples, percentile_of
from crashloop.slo.measurements import Interval
from crashloop.slo.text import number


def holm(probabilities: Sequence[float]) -> tuple[float, ...]:
    """Adjusted so that a threshold holds for all tests together, in the same order."""
    adjusted = [0.0] * len(probabilities)
    highest = 0.0
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__)
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * probabilities[index]))
        adjusted[index] = highest
    return tuple(adjusted)


MIN_PAIRS = 2
MIN_PAIRS_TO_ADJUST = 6
POWER = 0.8
"""With this probability a test finds its smallest visible effect."""


class PairedMean(NamedTuple):
    """An effect in the unit of the differences."""

    effect: float
    error: float
    """Standard error of the effect."""
    scatter: float
    """Standard deviation of one pair around the model."""
    freedom: int


def paired_mean(differences: Sequence[float], disturbances: Sequence[Sequence[float]] = ()) -> PairedMean:
    """The effect; every disturbance has one number per pair. Raises ValueError for fewer than two pairs."""
    found = np.asarray(differences, dtype=np.float64)
    if len(found) < MIN_PAIRS:
        raise ValueError(f"{len(found)} pairs; expected {MIN_PAIRS} or more")
    model = _design_matrix(len(found), disturbances if len(found) >= MIN_PAIRS_TO_ADJUST else ())
    inverse = np.linalg.inv(model.T @ model)
    slopes = inverse @ model.T @ found
    freedom = len(found) - model.shape[1]
    scatter = math.sqrt(float(((found - model @ slopes) ** 2).sum()) / freedom)
    return PairedMean(float(slopes[0]), scatter * math.sqrt(float(inverse[0, 0])), scatter, freedom)


def _design_matrix(pairs: int, disturbances: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """A column of ones, and the disturbances that can be separated from it and from each other."""
    model = np.ones((pairs, 1))
    for each in disturbances:
        wider = np.column_stack((model, np.asarray(each, dtype=np.float64)))
        if np.linalg.matrix_rank(wider) == wider.shape[1] and pairs - wider.shape[1] >= 2:
            model = wider
    return model


def interval(found: PairedMean, confidence: float) -> tuple[float, float]:
    """Student's interval of the effect."""
    reach = student.quantile(0.5 + confidence / 2, found.freedom) * found.error
    return found.effect - reach, found.effect + reach


def p_of_difference(found: PairedMean) -> float:
    """Probability of such an effect or a larger one, in either direction, if there is none."""
    if found.error == 0:
        return 1.0 if found.effect == 0 else 0.0
    return 2 * student.beyond(abs(found.effect) / found.error, found.freedom)


def p_of_inequivalence(found: PairedMean, margin: float) -> float:
    """Probability of an effect so close to 0, if it is as large as the margin: two one-sided tests (TOST)."""
    if found.error == 0:
        return 0.0 if abs(found.effect) < margin else 1.0
    return student.beyond((margin - abs(found.effect)) / found.error, found.freedom)


def smallest_visible(found: PairedMean, *, level: float, power: float = POWER) -> float:
    """The effect that a two-sided test at that level would have found with that power."""
    reach = student.quantile(1 - level / 2, found.freedom) + student.quantile(power, found.freedom)
    return reach * found.error


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
    return tuple(_read_effect(each, among=len(primary)) for each in found)


def _read_effect(effect: Effect, *, among: int) -> Effect:
    if effect.p_value is None or effect.ratio is None:
        return effect
    effect = msgspec.structs.replace(effect, reading=_reading_of_effect(effect))
    return msgspec.structs.replace(effect, sentence=_effect_in_words(effect, among))


def _reading_of_effect(effect: Effect) -> EffectReading:
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


def _effect_in_words(effect: Effect, among: int) -> str:
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
        f"p {_probability_in_words(effect.p_value)}{by_holm}, {effect.pairs} pairs of blocks, "
        f"{effect.samples[0]:,} and {effect.samples[1]:,} samples."
    )
    return " ".join((sentence, *_about_size(effect), *effect.notes))


def _about_size(effect: Effect) -> Iterable[str]:
    if _is_equivalent(effect) and effect.margin is not None:
        yield f"It is smaller than {number(100 * effect.margin)} % (p {_probability_in_words(effect.p_equivalence or 0.0)})."
    elif effect.reading is EffectReading.UNDECIDED and effect.smallest_visible is not None:
        size = number(100 * (effect.smallest_visible - 1))
        yield f"A difference of {size} % would have been found with a power of {100 * POWER:g} %."


def _probability_in_words(value: float) -> str:
    """A probability; below a thousandth its digits depend on the model of the scatter more than on the data."""
    return "below 0.001" if value < 0.001 else number(value)


def ratio_in_words(ratio: float) -> str:
    """A ratio with four digits, since differences of percents are looked for."""
    return f"{ratio:.4g}" if ratio < 1000 else number(ratio)


BASELINE, TREATMENT = "baseline", "treatment"
MARGIN = 0.05

Values = NDArray[np.float64]


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One block of one arm, with its samples; blocks are in the order of time."""

    arm: str
    samples: tuple[float, ...]
    turn: int | None = None
    """Its place in time; two blocks of one turn were measured together. None: its place in the sequence."""
    place: str = ""
    """Where it was measured, such as a node."""
    before: float | None = None
    """A covariate from before the block, which the treatment cannot have changed."""


class _Pair(NamedTuple):
    baseline: Block
    treatment: Block

    def order(self, turns: dict[int, int]) -> float:
        """1 if the treatment came second, -1 if first, 0 if both came at once."""
        return float(np.sign(turns[id(self.treatment)] - turns[id(self.baseline)]))

    def place(self, first: str) -> float:
        """1 if the treatment had the first place, -1 if the baseline had it, 0 if both had the same."""
        return float(self.treatment.place == first) - float(self.baseline.place == first)

    @property
    def before(self) -> float:
        if self.baseline.before is None or self.treatment.before is None:
            return 0.0
        return self.treatment.before - self.baseline.before


def compare(
    what: str,
    blocks: Sequence[Block],
    *,
    percentile: float | None = 50,
    unit: str = "s",
    margin: float = MARGIN,
    primary: bool = False,
    among: int = 1,
) -> Effect:
    """The effect on a percentile of the samples, or with None on their mean, read as the only one (`decided` reads several).

    `among`: number of primary effects that share the probability of a false alarm. Raises ValueError for an unknown arm, or
    a sample that is not above zero.
    """
    _check(blocks)
    pairs = list(_pairs(blocks))
    statistic, of = ("mean", _mean) if percentile is None else (f"p{percentile:g}", _percentile(percentile))
    counts = (sum(len(pair.baseline.samples) for pair in pairs), sum(len(pair.treatment.samples) for pair in pairs))
    needed = 1 if percentile is None else least_samples(percentile)
    effect = Effect(
        what=what,
        statistic=statistic,
        unit=unit,
        reading=EffectReading.TOO_LITTLE,
        sentence=too_little(what, len(pairs), counts, needed),
        pairs=len(pairs),
        samples=counts,
        primary=primary,
        margin=margin,
    )
    if len(pairs) < MIN_PAIRS or min(counts) < needed:
        return effect
    logs = [math.log(of(pair.treatment.samples) / of(pair.baseline.samples)) for pair in pairs]
    disturbances = _disturbances(blocks, pairs)
    found = paired_mean(logs, tuple(disturbances.values()))
    lower, upper = interval(found, CONFIDENCE)
    effect = msgspec.structs.replace(
        effect,
        baseline=of([sample for pair in pairs for sample in pair.baseline.samples]),
        treatment=of([sample for pair in pairs for sample in pair.treatment.samples]),
        ratio=_exp(found.effect),
        ratio_interval=Interval(_exp(lower), _exp(upper), CONFIDENCE),
        scatter=found.scatter,
        p_value=p_of_difference(found),
        p_equivalence=p_of_inequivalence(found, math.log1p(margin)),
        smallest_visible=_exp(smallest_visible(found, level=LEVEL / (among if primary else 1))),
        log_ratios=tuple(logs),
        disturbances={name: tuple(numbers) for name, numbers in disturbances.items()},
        notes=tuple(_confounded(disturbances)),
    )
    return decided([effect])[0]


def _check(blocks: Iterable[Block]) -> None:
    for block in blocks:
        if block.arm not in (BASELINE, TREATMENT):
            raise ValueError(f"arm {block.arm!r}: expected {BASELINE} or {TREATMENT}")
        if not all(0 < sample < math.inf for sample in block.samples):
            raise ValueError(f"{block.arm}: sample {min(block.samples):g}; expected numbers above zero")


def _pairs(blocks: Iterable[Block]) -> Iterator[_Pair]:
    """Pairs of a block of one arm with the next block of the other; a block without samples or partner is left out."""
    waiting: Block | None = None
    for block in blocks:
        if not block.samples:
            continue
        if waiting is None or waiting.arm == block.arm:
            waiting = block
            continue
        yield _Pair(waiting, block) if waiting.arm == BASELINE else _Pair(block, waiting)
        waiting = None


def _disturbances(blocks: Sequence[Block], pairs: Sequence[_Pair]) -> dict[str, list[float]]:
    """One number per pair, 0 where it is neutral."""
    turns = {id(block): index if block.turn is None else block.turn for index, block in enumerate(blocks)}
    places = sorted({block.place for pair in pairs for block in pair})
    return {
        "place": [pair.place(places[0]) for pair in pairs],
        "order": [pair.order(turns) for pair in pairs],
        "before": [pair.before for pair in pairs],
    }


_CONFOUNDED = {
    "place": "The arms never changed places, so the effect includes any difference between the two.",
    "order": "The arms always had the same order, so the effect includes any drift from block to block.",
}


def _confounded(disturbances: dict[str, list[float]]) -> Iterator[str]:
    for name, sentence in _CONFOUNDED.items():
        if len(set(disturbances[name])) == 1 and disturbances[name][0]:
            yield sentence


def _mean(samples: Sequence[float]) -> float:
    return float(np.mean(samples))


def _percentile(percentile: float) -> Callable[[Sequence[float]], float]:
    return lambda samples: percentile_of(samples, percentile)


def _exp(log: float) -> float:
    """exp, bounded: two pairs may leave an effect open over many powers of ten."""
    return math.exp(min(log, 700.0))
