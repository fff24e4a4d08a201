"""False alarms and power among the relabellings of an A/A run: what its own scatter makes of equal arms, and of dearer ones.

Theory of operation. The arms of an A/A run are alike, so which of a pair is called treatment is arbitrary: every choice is a run
that could have been as well. A choice swaps both arms of a pair with their places and covariates. All choices together show,
without further runs, how often the scatter of this host is taken for a difference, and how often it hides one: a planted ratio is
added to each pair of a choice. Source: Fisher 1935 (randomisation test).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from crashloop.slo.effect import LEVEL, Effect
from crashloop.slo.holm import holm
from crashloop.slo.paired import PairedMean, p_of_difference, paired_mean

MAX_PAIRS = 12
"""Beyond it there are too many relabellings."""

Signs = Sequence[int]


class Relabelled(NamedTuple):
    """Counts of relabellings."""

    found: int
    """Those that call a difference."""
    labellings: int


def false_alarms(effects: Sequence[Effect]) -> Relabelled | None:
    """Relabellings of one A/A run in which any of its primary effects is called a difference.

    None if an effect lacks its pairs, or they have too many or different numbers.
    """
    return _counted(effects, lambda means: min(_adjusted(means)) <= LEVEL)


def power(effects: Sequence[Effect], at: int, ratio: float) -> Relabelled | None:
    """Relabellings of one A/A run that call the effect at that index higher, if its treatment is `ratio` times as dear."""

    def sees(means: Sequence[PairedMean]) -> bool:
        dearer = means[at]._replace(effect=means[at].effect + math.log(ratio))
        adjusted = _adjusted([*means[:at], dearer, *means[at + 1 :]])
        return adjusted[at] <= LEVEL and dearer.effect > 0

    return _counted(effects, sees)


def _counted(effects: Sequence[Effect], sees: Callable[[Sequence[PairedMean]], bool]) -> Relabelled | None:
    pairs = {len(each.log_ratios) for each in effects}
    if len(pairs) != 1 or not all(each.disturbances for each in effects) or not 2 <= min(pairs) <= MAX_PAIRS:
        return None
    found = [sees([_mean(each, signs) for each in effects]) for signs in _labellings(min(pairs))]
    return Relabelled(sum(found), len(found))


def _labellings(pairs: int) -> Iterator[Signs]:
    return product((1, -1), repeat=pairs)


def _adjusted(means: Sequence[PairedMean]) -> Sequence[float]:
    return holm([p_of_difference(each) for each in means])


def _mean(effect: Effect, signs: Signs) -> PairedMean:
    disturbances = [_signed(numbers, signs) for numbers in effect.disturbances.values()]
    return paired_mean(_signed(effect.log_ratios, signs), disturbances)


def _signed(numbers: Sequence[float], signs: Signs) -> list[float]:
    return [number * sign for number, sign in zip(numbers, signs, strict=True)]
