"""The cost of one restart under a load: interpolated between the loads that were measured. Pure.

A restart costs more where restarts are rare: then every change of a status is a request of its own, and nothing is shared. It
also costs more the longer its container waited: a kubelet syncs waiting pods as well, and says each time that they wait. So a
costs file may hold the costs at several rates and delays (the maxima of curves). Between two rates and between two delays
costs are linear, outside of them those of the nearest. Without such loads they are the same everywhere.
The overhead depends on the rate as well, since a busy node finds an exit later; loads whose overhead is not known are left out.
"""

from collections.abc import Sequence
from itertools import groupby

import msgspec
import numpy as np

from crashloop.predict.costs import COSTED, Costs, CostsAt


def costs_at(costs: Costs, restarts_per_s: float, delay_s: float) -> Costs:
    """The costs on a node with that rate of restarts, of restarts with that delay."""
    if not costs.by_load:
        return costs
    known = dict.fromkeys(COSTED, costs.by_load)
    if timed := tuple(each for each in costs.by_load if each.overhead_s is not None):
        known["overhead_s"] = timed
    found = {name: _interpolated(name, rows, restarts_per_s, delay_s) for name, rows in known.items()}
    return msgspec.structs.replace(costs, **found)


def _interpolated(name: str, rows: Sequence[CostsAt], restarts_per_s: float, delay_s: float) -> float:
    ordered = sorted(rows, key=lambda each: (each.maximum_s, each.restarts_per_s))
    by_delay = {
        maximum_s: _at_rate(name, list(each), restarts_per_s)
        for maximum_s, each in groupby(ordered, key=lambda row: row.maximum_s)
    }
    return float(np.interp(delay_s, list(by_delay), list(by_delay.values())))


def _at_rate(name: str, rows: Sequence[CostsAt], restarts_per_s: float) -> float:
    """By rows of one delay, of rising rates."""
    return float(
        np.interp(restarts_per_s, [each.restarts_per_s for each in rows], [getattr(each, name) for each in rows])
    )
