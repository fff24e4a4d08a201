"""CPU by the times at which it was counted.

A kubelet brings the CPU of a pod up to date about every ten seconds, whenever it is scraped. Beside each value it
states its time.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crashloop.slo.families import stamp_of
from crashloop.slo.rows import Selection
from crashloop.slo.scrapes import ScrapedSeries, Scrapes


class CountedCpu(NamedTuple):
    """CPU seconds that a pod had used."""

    times_s: NDArray[np.float64]
    """Of the values, in order, each once; UTC."""
    values_s: NDArray[np.float64]

    @property
    def first_s(self) -> float:
        return float(self.times_s[0])

    @property
    def last_s(self) -> float:
        return float(self.times_s[-1])

    def used_s(self, at_s: float) -> float:
        """Up to a time: in a straight line between two values."""
        return float(np.interp(at_s, self.times_s, self.values_s))


def counted_cpu(scrapes: Iterable[Scrapes], counter: Selection) -> CountedCpu | None:
    """The values of the only series of a counter; None without their times, or with fewer than two."""
    for source in scrapes:
        if source.source.source == counter.source:
            found = [each for each in source.series if counter.selects(each.labels)]
            values = next((each for each in found if each.name == counter.metric), None)
            stamps = next((each for each in found if each.name == stamp_of(counter.metric)), None)
            if values is not None and stamps is not None:
                return _paired(values, stamps)
    return None


def _paired(values: ScrapedSeries, stamps: ScrapedSeries) -> CountedCpu | None:
    _, at, of = np.intersect1d(values.t_ns, stamps.t_ns, return_indices=True)
    times_s, first = np.unique(stamps.values[of], return_index=True)
    return CountedCpu(times_s, values.values[at][first]) if len(times_s) > 1 else None
