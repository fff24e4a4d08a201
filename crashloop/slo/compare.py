"""The effect of a treatment against a baseline, from interleaved blocks (A/B/A/B).

Theory of operation. A host drifts: caches warm, disks fill, neighbours come and go. So every block of the treatment is
paired with the adjacent block of the baseline, and both arms are spread evenly over time. One pair gives one ratio; the
interval is Student's, of the mean of the ratios' logarithms. Samples within a block share the block's conditions, so only
more pairs narrow the interval, not more samples. The effect is also compared with noise: the differences between blocks
of the unchanged baseline. It counts if the interval excludes "no difference" and the effect is larger than that noise.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from crashloop.slo.estimates import least_samples, percentile_of, ratio_of_pairs
from crashloop.slo.text import number
from crashloop.slo.types import Interval

BASELINE, TREATMENT = "baseline", "treatment"
MIN_PAIRS = 2

Values = NDArray[np.float64]


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One block of one arm, with its samples; blocks are in the order of time."""

    arm: str
    samples: tuple[float, ...]


class EffectReading(StrEnum):
    """The reading of an effect."""

    HIGHER = "higher"
    LOWER = "lower"
    NO_DIFFERENCE = "no difference seen"
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
    baseline: float | None = None
    treatment: float | None = None
    ratio: float | None = None
    """Treatment divided by baseline: the geometric mean over the pairs."""
    ratio_interval: Interval | None = None
    noise: float | None = None
    """The largest ratio between two blocks of the baseline, 1 or more; None with fewer than two."""


class _Pair(NamedTuple):
    baseline: Values
    treatment: Values


def compare(what: str, blocks: Sequence[Block], *, percentile: float | None = 50, unit: str = "s") -> Effect:
    """The effect on a percentile of the samples, or with None on their mean.

    Raises ValueError for an unknown arm, or a sample that is not above zero.
    """
    _check(blocks)
    pairs = list(_pairs(blocks))
    statistic, of = ("mean", _mean) if percentile is None else (f"p{percentile:g}", _percentile(percentile))
    counts = (sum(len(pair.baseline) for pair in pairs), sum(len(pair.treatment) for pair in pairs))
    effect = Effect(
        what=what,
        statistic=statistic,
        unit=unit,
        reading=EffectReading.TOO_LITTLE,
        sentence="",
        pairs=len(pairs),
        samples=counts,
    )
    needed = 1 if percentile is None else least_samples(percentile)
    if len(pairs) < MIN_PAIRS or min(counts) < needed:
        return msgspec.structs.replace(effect, sentence=_too_little(effect, needed))
    ratio, interval = ratio_of_pairs([of(pair.treatment) / of(pair.baseline) for pair in pairs])
    effect = msgspec.structs.replace(
        effect,
        baseline=of(np.concatenate([pair.baseline for pair in pairs])),
        treatment=of(np.concatenate([pair.treatment for pair in pairs])),
        ratio=ratio,
        ratio_interval=interval,
        noise=_noise([of(pair.baseline) for pair in pairs]),
    )
    effect = msgspec.structs.replace(effect, reading=_reading(effect))
    return msgspec.structs.replace(effect, sentence=_sentence(effect))


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
        first, second = (waiting, block) if waiting.arm == BASELINE else (block, waiting)
        yield _Pair(np.asarray(first.samples), np.asarray(second.samples))
        waiting = None


def _mean(samples: Values) -> float:
    return float(samples.mean())


def _percentile(percentile: float) -> Callable[[Values], float]:
    return lambda samples: percentile_of(samples, percentile)


def _noise(baselines: Sequence[float]) -> float | None:
    return max((max(one, other) / min(one, other) for one, other in combinations(baselines, 2)), default=None)


def _reading(effect: Effect) -> EffectReading:
    assert effect.ratio is not None
    assert effect.ratio_interval is not None
    lower, upper = effect.ratio_interval.lower or 0.0, effect.ratio_interval.upper or math.inf
    beyond_noise = max(effect.ratio, 1 / effect.ratio) > (effect.noise or 1.0)
    if lower <= 1 <= upper or not beyond_noise:
        return EffectReading.NO_DIFFERENCE
    return EffectReading.HIGHER if effect.ratio > 1 else EffectReading.LOWER


def _too_little(effect: Effect, needed: int) -> str:
    return (
        f"{effect.what}: {effect.reading}. {effect.pairs} pairs of blocks with {effect.samples[0]} and {effect.samples[1]} "
        f"samples; {MIN_PAIRS} pairs and {needed} samples in each arm are needed."
    )


def _sentence(effect: Effect) -> str:
    assert effect.ratio is not None
    assert effect.ratio_interval is not None
    assert effect.baseline is not None
    assert effect.treatment is not None
    lower, upper = effect.ratio_interval.lower or 0.0, effect.ratio_interval.upper or math.inf
    noise = (
        ""
        if effect.noise is None
        else f" Blocks of the baseline differ among themselves by up to {number(effect.noise)}."
    )
    return (
        f"{effect.what}: {effect.reading}. {effect.statistic} {number(effect.treatment)} {effect.unit} against "
        f"{number(effect.baseline)} {effect.unit}, ratio {number(effect.ratio)} "
        f"({100 * effect.ratio_interval.confidence:g} % interval {number(lower)} to {number(upper)}), "
        f"{effect.pairs} pairs of blocks, {effect.samples[0]:,} and {effect.samples[1]:,} samples.{noise}"
    )
