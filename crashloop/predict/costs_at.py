"""The cost of one restart under a load: interpolated between the loads that were measured. Pure.

A restart costs more where restarts are rare: then every change of a status is a request of its own, and nothing is shared. So
a costs file may hold the costs at several rates and curves. The curve with the nearest maximum (by its logarithm) counts;
between two rates costs are linear, outside of them those of the nearest rate. Without such loads they are the same everywhere.
The same holds for the overhead: the busier a node, the later it finds an exit.
"""

from math import log

import msgspec
import numpy as np

from crashloop.model.config import Curve
from crashloop.predict.costs import COSTED, Costs, CostsAt


def costs_at(costs: Costs, restarts_per_s: float, curve: Curve) -> Costs:
    """The costs on a node with that rate of restarts and that curve."""
    rows = _of_curve(costs.by_load, curve)
    if not rows:
        return costs
    rates = [each.restarts_per_s for each in rows]
    named = (*COSTED, "overhead_s") if all(each.overhead_s is not None for each in rows) else COSTED
    found = {name: float(np.interp(restarts_per_s, rates, [getattr(each, name) for each in rows])) for name in named}
    return msgspec.structs.replace(costs, **found)


def _of_curve(by_load: tuple[CostsAt, ...], curve: Curve) -> list[CostsAt]:
    """By rising rate."""
    if not by_load:
        return []
    nearest = min((each.maximum_s for each in by_load), key=lambda maximum_s: abs(log(maximum_s / curve.maximum_s)))
    return sorted((each for each in by_load if each.maximum_s == nearest), key=lambda each: each.restarts_per_s)
