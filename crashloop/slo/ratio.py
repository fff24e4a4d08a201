"""Growth of a counter per event or second: API requests per restart, kubelet CPU seconds per restart, requests a second.

Counter and events cover the same interval between scrapes. A node's counter belongs to the events of that node; a counter
of the control plane to the events of all nodes.
"""

import numpy as np
from numpy.typing import NDArray

from crashloop.errors import ObservationError
from crashloop.slo.blocks import Steps, ratio_interval, sums_in_blocks
from crashloop.slo.events import SECONDS, times_of
from crashloop.slo.rows import RatioSli
from crashloop.slo.sources import Found, find, notes
from crashloop.slo.types import Measured, Phase, SliResult


def ratio(sli: RatioSli, measured: Measured, window: Phase) -> SliResult:
    """Growth per event in a window, minus the growth without load if the row names such a phase.

    Raises UnknownMetric, or ObservationError where scrapes or that phase are missing.
    """
    if not measured.lifecycles and sli.per != SECONDS:
        raise ObservationError("no lifecycles were recorded, so the number of events is unknown.")
    found = find(measured, sli, window.from_ns, window.to_ns)
    idle = _idle_per_s(sli, measured)
    counted: list[Steps] = []
    for source in found:
        times = np.asarray(source.scrapes.t_ns[source.window.first : source.window.last + 1], dtype=np.int64)
        rate = idle.get(source.scrapes.source.node, 0.0)
        steps = _steps(source, len(times)) - rate * np.diff(times) / 1e9
        counts = _events(sli, measured, source.scrapes.source.node, times)
        counted.append(Steps(times, (steps, counts)))
    grown, events = (float(sum(each.grown[row].sum() for each in counted)) for row in (0, 1))
    return SliResult(
        value=grown / events if events else None,
        interval=ratio_interval(*sums_in_blocks(counted)) if events else None,
        samples=round(events),
        from_ns=min(each.window.from_ns for each in found),
        to_ns=max(each.window.to_ns for each in found),
        notes=notes(found),
    )


def _steps(source: Found, scrapes: int) -> NDArray[np.float64]:
    steps = np.zeros(scrapes - 1)
    for growth in source.growths:
        steps += growth.steps
    return steps


def _events(sli: RatioSli, measured: Measured, node: str, times: NDArray[np.int64]) -> NDArray[np.float64]:
    if sli.per == SECONDS:
        return np.diff(times) / 1e9
    counts, _ = np.histogram(times_of(sli.per, measured, node), bins=times)
    return counts.astype(np.float64)


def _idle_per_s(sli: RatioSli, measured: Measured) -> dict[str, float]:
    """Growth per second without load, by node. Raises ObservationError if the run had no such phase."""
    if sli.idle is None:
        return {}
    phases = [phase for phase in measured.phases if phase.name == sli.idle]
    if not phases:
        raise ObservationError(f"no phase {sli.idle!r} in this run, whose rate was to be subtracted.")
    grown: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for phase in phases:
        for source in find(measured, sli, phase.from_ns, phase.to_ns):
            node = source.scrapes.source.node
            grown[node] = grown.get(node, 0.0) + sum(growth.total for growth in source.growths)
            seconds[node] = seconds.get(node, 0.0) + source.window.seconds
    return {node: total / seconds[node] for node, total in grown.items()}
