"""Claims about restart counts that a text makes in numbers, as data; crashloop.model.sums computes them again."""

from enum import StrEnum

import msgspec


class Figure(StrEnum):
    """What is counted. The free restart is left out, as the KEPs do."""

    RESTARTS = "restarts"
    """Restarts by `by_s`."""
    ADDED = "added"
    """Those beyond the restarts of the default curve."""
    ADDED_AT_MAXIMUM = "added-at-maximum"
    """Those in a time of `by_s` once both curves are at their maximum."""
    ADDED_LATE_SHARE = "added-late-share"
    """The share of the added ones that comes after the first 70 s."""
    WAITS_BELOW = "waits-below"
    """How many of the first waits are shorter than `than_s`."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A number in a text: it is said to lie between `least` and `most`."""

    says: str
    """What the text says, as a clause."""
    figure: Figure
    initial_s: float
    maximum_s: float
    waits_s: tuple[float, ...] = ()
    """Waits instead of those of a curve."""
    by_s: float = 0.0
    run_s: float = 0.0
    """Length of each life."""
    than_s: float = 0.0
    times: float = 1.0
    """What the number is multiplied by: requests per restart."""
    least: float
    most: float
