"""What chance alone makes of many attempts, and how often it may accuse a kubelet that keeps its promise."""

from math import comb

CHANCE = 1e-4
"""Of a verdict on a kubelet that is right."""


def fewer_than(least: int, of: int, share: float) -> float:
    """The probability of fewer than `least` hits in so many independent attempts, if `share` of all attempts hit."""
    return sum(comb(of, hits) * share**hits * (1 - share) ** (of - hits) for hits in range(least))


def least_beyond_chance(of: int, share: float) -> int:
    """The least number of hits in so many attempts that are too many, but for `CHANCE`, if that share of all attempts hit."""
    return next((hits for hits in range(of + 1) if 1 - fewer_than(hits, of, share) < CHANCE), of + 1)
