"""False alarms and power among the relabellings of an A/A run: what its own scatter makes of equal arms, and of dearer ones.

Theory of operation. The arms of an A/A run are alike, so which of a pair is called treatment is arbitrary: every choice is a run
that could have been as well. A choice swaps both arms of a pair with their places and covariates. All choices together show,
without further runs, how often the scatter of this host is taken for a difference, and how often it hides one: a planted ratio is
added to each pair of a choice. Source: Fisher 1935 (randomisation test).
"""

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from crashloop.slo.compare import LEVEL, Effect, PairedMean, holm, p_of_difference, paired_mean

MAX_PAIRS = 12
"""Beyond it there are too many relabellings."""

Signs = Sequence[int]
Means = Sequence[PairedMean]
"""The effects of one labelling."""


class Relabelled(NamedTuple):
    """Counts of relabellings."""

    found: int
    """Those with the finding in question."""
    labellings: int


def relabelled(effects: Sequence[Effect]) -> Sequence[Means] | None:
    """All relabellings of the primary effects of one A/A run.

    None if an effect lacks its pairs, or they have too many or different numbers.
    """
    pairs = {len(each.log_ratios) for each in effects}
    if len(pairs) != 1 or not all(each.disturbances for each in effects) or not 2 <= min(pairs) <= MAX_PAIRS:
        return None
    return [[_mean(each, signs) for each in effects] for signs in product((1, -1), repeat=min(pairs))]


def false_alarms(labellings: Sequence[Means]) -> Relabelled:
    """Those in which any effect is called a difference."""
    return _counted(labellings, lambda means: min(_adjusted(means)) <= LEVEL)


def power(labellings: Sequence[Means], at: int, ratio: float) -> Relabelled:
    """Those that call the effect at that index higher, if its treatment is `ratio` times as dear."""

    def sees(means: Means) -> bool:
        dearer = means[at]._replace(effect=means[at].effect + math.log(ratio))
        adjusted = _adjusted([*means[:at], dearer, *means[at + 1 :]])
        return adjusted[at] <= LEVEL and dearer.effect > 0

    return _counted(labellings, sees)


def _counted(labellings: Sequence[Means], sees: Callable[[Means], bool]) -> Relabelled:
    return Relabelled(sum(map(sees, labellings)), len(labellings))


def _adjusted(means: Means) -> Sequence[float]:
    return holm([p_of_difference(each) for each in means])


def _mean(effect: Effect, signs: Signs) -> PairedMean:
    disturbances = [_signed(numbers, signs) for numbers in effect.disturbances.values()]
    return paired_mean(_signed(effect.log_ratios, signs), disturbances)


def _signed(numbers: Sequence[float], signs: Signs) -> list[float]:
    return [number * sign for number, sign in zip(numbers, signs, strict=True)]
