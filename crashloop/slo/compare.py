"""The effect of a treatment against a baseline, from blocks of both arms that are next to each other in time.

Theory of operation. A host drifts: caches warm, disks fill, neighbours come and go. So every block of the treatment is
paired with the adjacent block of the baseline, or with one at the same time. One pair gives one log ratio; the interval is
Student's, of their mean. Samples within a block share the block's conditions, so only more pairs narrow the interval, not
more samples. Which arm came first, which place it had, and how busy the host was before, are disturbances
(crashloop.slo.effect): with alternating orders and places they cancel out.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from crashloop.slo.effect import (
    LEVEL,
    MIN_PAIRS,
    Effect,
    EffectReading,
    decided,
    interval,
    p_of_difference,
    p_of_inequivalence,
    paired_mean,
    smallest_visible,
    too_little,
)
from crashloop.slo.estimates import CONFIDENCE, least_samples, percentile_of
from crashloop.slo.measurements import Interval

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
