"""Due times of the arrivals of an open model: by the rate alone, even if the system answers slowly. Pure.

A closed model waits for an answer before its next request, so a slow system slows the load down and hides its slowness
(coordinated omission). Here the intended times are fixed, and missed arrivals are counted.
"""

import math
import random
from collections.abc import Iterator, Sequence

from crashloop.stress.loads import Burst, Demand, OpenLoad


def arrivals_ns(load: OpenLoad, began_ns: int) -> Iterator[int]:
    """Intended times of a load that begins then."""
    seconds = _poisson_s(load) if isinstance(load, Demand) else _regular_s(load.rate_per_s)
    return (began_ns + round(at_s * 1e9) for at_s in seconds)


def _regular_s(rate_per_s: float) -> Iterator[float]:
    """The first is one interval after the beginning."""
    at_s = 0.0
    while True:
        at_s += 1 / rate_per_s
        yield at_s


def _poisson_s(load: Demand) -> Iterator[float]:
    """A Poisson process whose rate changes: each arrival needs a random number of expected ones since the one before."""
    draws, at_s = random.Random(load.seed), 0.0
    while True:
        needed = draws.expovariate(1.0)
        rate, until_s = _piece(load.rate_per_s, load.bursts, at_s)
        while needed > rate * (until_s - at_s):
            needed -= rate * (until_s - at_s)
            at_s = until_s
            rate, until_s = _piece(load.rate_per_s, load.bursts, at_s)
        at_s += needed / rate
        yield at_s


def _piece(rate_per_s: float, bursts: Sequence[Burst], at_s: float) -> tuple[float, float]:
    """The rate at a time, and how long it stays."""
    for burst in bursts:
        if at_s < burst.after_s:
            return rate_per_s, burst.after_s
        if at_s < burst.to_s:
            return burst.rate_per_s, burst.to_s
    return rate_per_s, math.inf
