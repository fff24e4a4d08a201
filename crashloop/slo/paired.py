"""The mean of paired differences, adjusted for what is known to disturb pairs, and the questions that it answers.

Theory of operation. Every pair gives one difference d (here: of logarithms, so exp(d) is a ratio). The model is
d = effect + sum(slope x disturbance) + noise, fitted by least squares; the effect is its value where all disturbances are 0.
A disturbance is coded so that 0 is neutral: +1 and -1 for which arm had a place or a turn, a difference for a covariate. One
that never varies cannot be separated from the effect and is left out; so are all with few pairs, where they cost more
than they give.
Sources: Deng et al. 2013 (CUPED: covariates from before the treatment); Schuirmann 1987 (TOST).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crashloop.model import student

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
    model = _model(len(found), disturbances if len(found) >= MIN_PAIRS_TO_ADJUST else ())
    inverse = np.linalg.inv(model.T @ model)
    slopes = inverse @ model.T @ found
    freedom = len(found) - model.shape[1]
    scatter = math.sqrt(float(((found - model @ slopes) ** 2).sum()) / freedom)
    return PairedMean(float(slopes[0]), scatter * math.sqrt(float(inverse[0, 0])), scatter, freedom)


def _model(pairs: int, disturbances: Sequence[Sequence[float]]) -> NDArray[np.float64]:
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
