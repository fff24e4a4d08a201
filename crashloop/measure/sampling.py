"""Which nodes of many are scraped. Pure: the same names and seed give the same nodes, in any run."""

from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from crashloop.slo.scrapes import NodeSample


class Scraped(NamedTuple):
    """The nodes that are scraped."""

    nodes: frozenset[str]
    """Names of their Node objects."""
    sample: NodeSample | None
    """None: all of them are."""


def scraped(names: Iterable[str], *, at_most: int, seed: int) -> Scraped:
    """All nodes, or of more than `at_most` so many: those that come first in an order that the seed gives.

    A node that joins or leaves the cluster changes at most one node of the sample.
    """
    everyone = sorted(names)
    if len(everyone) <= at_most:
        return Scraped(frozenset(everyone), None)
    ordered = sorted(everyone, key=lambda name: sha256(f"{seed} {name}".encode()).digest())
    return Scraped(frozenset(ordered[:at_most]), NodeSample(scraped=at_most, of=len(everyone), seed=seed))
