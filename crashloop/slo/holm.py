"""Several tests at once: adjusted probabilities of error by Holm 1979."""

from collections.abc import Sequence


def holm(probabilities: Sequence[float]) -> tuple[float, ...]:
    """Adjusted so that a threshold holds for all tests together, in the same order."""
    adjusted = [0.0] * len(probabilities)
    highest = 0.0
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__)
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * probabilities[index]))
        adjusted[index] = highest
    return tuple(adjusted)
