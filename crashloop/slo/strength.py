"""How much a kept or missed percentile proves: would a system that just breaks the promise look like that?

With 100 samples and one allowed miss, a system that misses 2 % keeps "p99" in four of ten runs. So a verdict says what
happened, and its evidence is *strong* only if as few misses would be rare (5 %) where the budget is just exceeded; likewise
as many misses where it is just kept. Samples are effective ones (crashloop.slo.blocks).
"""

import math
from enum import StrEnum

import numpy as np

RARE = 0.05


class Strength(StrEnum):
    """Of the evidence for a verdict."""

    STRONG = "strong"
    WEAK = "weak"


def chance_at_the_budget(bad: int, samples: int, effective: float, budget: float, *, kept: bool) -> float:
    """Probability of a result at least as far from the budget on its side, if the share of misses is exactly the budget."""
    number = max(1, math.floor(effective))
    shrunk = bad * number / samples
    if kept:
        return _at_most(math.ceil(shrunk), number, budget)
    return 1 - _at_most(math.floor(shrunk) - 1, number, budget)


def strength(bad: int, samples: int, effective: float | None, budget: float, *, kept: bool) -> Strength:
    """Weak also where it is unknown how independent the samples are."""
    known = effective is not None and chance_at_the_budget(bad, samples, effective, budget, kept=kept) <= RARE
    return Strength.STRONG if known else Strength.WEAK


def _at_most(hits: int, samples: int, share: float) -> float:
    """Of a binomial number."""
    if hits < 0:
        return 0.0
    logs = [
        math.lgamma(samples + 1)
        - math.lgamma(each + 1)
        - math.lgamma(samples - each + 1)
        + each * math.log(share)
        + (samples - each) * math.log1p(-share)
        for each in range(min(hits, samples) + 1)
    ]
    return min(1.0, float(np.exp(logs).sum()))
