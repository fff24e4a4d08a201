"""When the arrivals of an open model are due: by the rate alone, however slow the system answers. Pure.

A closed model waits for the answer before it asks again, so a slow system slows the load down and hides its slowness
(coordinated omission). Here the intended times are fixed, and what was not achieved is counted.
"""

from collections.abc import Iterator


def arrivals_ns(rate_per_s: float, began_ns: int) -> Iterator[int]:
    """Intended times, without an end; the first is one interval after the beginning."""
    number = 0
    while True:
        number += 1
        yield began_ns + round(number * 1e9 / rate_per_s)
