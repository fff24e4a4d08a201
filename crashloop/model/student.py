"""Student's t for whole degrees of freedom, exactly: the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4.

scipy has it too, but is larger than numpy, for two functions.
"""

import math
from functools import cache

_STEPS = 200
"""Halvings of the interval that holds a quantile: more than a double has bits."""


def within(t: float, freedom: int) -> float:
    """The probability of a value between -t and t (t not negative). Raises ValueError below one degree of freedom."""
    if freedom < 1:
        raise ValueError(f"{freedom} degrees of freedom; expected 1 or more")
    if math.isinf(t):
        return 1.0
    angle = math.atan(t / math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = freedom % 2
    term = total = (math.cos(angle) if odd else 1.0) if freedom > 1 else 0.0
    for power in range(2 + odd, freedom - 1, 2):
        term *= square * (power - 1) / power
        total += term
    found = 2 / math.pi * (angle + sine * total) if odd else sine * total
    return min(1.0, found)


def beyond(t: float, freedom: int) -> float:
    """The probability of a value above t."""
    tail = (1 - within(abs(t), freedom)) / 2
    return tail if t >= 0 else 1 - tail


@cache
def quantile(probability: float, freedom: int) -> float:
    """The t that a value exceeds with the rest of the probability (0.5 to below 1). Raises ValueError for others."""
    if not 0.5 <= probability < 1:
        raise ValueError(f"probability {probability:g}; expected 0.5 to below 1")
    share = 2 * probability - 1
    low, high = 0.0, 1.0
    while within(high, freedom) < share:
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle, freedom) < share else (low, middle)
    return high
