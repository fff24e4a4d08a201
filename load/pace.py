"""Due times of the arrivals of an open model: by the rate alone, even if the system answers slowly. Pure.

A closed model waits for an answer before its next request, so a slow system slows the load down and hides its slowness
(coordinated omission). Here the intended times are fixed, and missed arrivals are counted.
"""

from collections.abc import Iterator

from crashloop.stress.loads import Burst


def arrivals_ns(rate_per_s: float, began_ns: int, burst: Burst | None = None) -> Iterator[int]:
    """Intended times, endless; the first is one interval after the beginning."""
    at_s = 0.0
    while True:
        at_s += 1 / _rate(rate_per_s, at_s, burst)
        yield began_ns + round(at_s * 1e9)


def _rate(rate_per_s: float, at_s: float, burst: Burst | None) -> float:
    """The rate at a given time."""
    if burst is not None and burst.after_s <= at_s < burst.after_s + burst.for_s:
        return burst.rate_per_s
    return rate_per_s
