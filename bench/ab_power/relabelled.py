"""False alarms among the relabellings of an A/A run: what its own scatter makes the comparison call a difference.

Theory of operation. The arms of an A/A run are alike, so which of a pair is called treatment is arbitrary: every choice is a run
that could have been as well. All of them together show, without further runs, how often the scatter of this host is taken for
a difference. A choice swaps both arms of a pair with their places and covariates; a choice and its opposite have one probability,
so the first pair keeps its labels. Source: Fisher 1935 (randomisation test).
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from crashloop.slo.effect import LEVEL, Effect
from crashloop.slo.holm import holm
from crashloop.slo.paired import p_of_difference, paired_mean

MAX_PAIRS = 12
"""Beyond it there are too many relabellings."""

Signs = Sequence[int]


class Relabelled(NamedTuple):
    """Counts of relabellings."""

    alarms: int
    """Those in which any effect is called a difference."""
    labellings: int


def relabelled(effects: Sequence[Effect]) -> Relabelled | None:
    """Of the primary effects of one A/A run. None if an effect lacks its pairs, or they have too many or different numbers."""
    pairs = {len(each.log_ratios) for each in effects}
    if len(pairs) != 1 or not all(each.disturbances for each in effects) or not 2 <= min(pairs) <= MAX_PAIRS:
        return None
    found = [_is_alarm(effects, signs) for signs in _labellings(min(pairs))]
    return Relabelled(sum(found), len(found))


def _labellings(pairs: int) -> Iterator[Signs]:
    return ((1, *signs) for signs in product((1, -1), repeat=pairs - 1))


def _is_alarm(effects: Sequence[Effect], signs: Signs) -> bool:
    return min(holm([_p_value(each, signs) for each in effects])) <= LEVEL


def _p_value(effect: Effect, signs: Signs) -> float:
    disturbances = [_signed(numbers, signs) for numbers in effect.disturbances.values()]
    return p_of_difference(paired_mean(_signed(effect.log_ratios, signs), disturbances))


def _signed(numbers: Sequence[float], signs: Signs) -> list[float]:
    return [number * sign for number, sign in zip(numbers, signs, strict=True)]
