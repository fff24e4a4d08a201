"""Figures of metrics in one window: the highest value of a gauge, growth per event or second, whether metrics exist and move.

Growth of a counter per event: API requests per restart, kubelet CPU seconds per restart. Counter and events cover the same
interval between scrapes. A node's counter belongs to the events of that node; a counter of the control plane to the events of
all nodes.

Growth of a gauge per event is what every event leaves behind: by medians of thirds, because a scrape in the midst of a restart
sees what the restart holds only for a moment.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from crashloop.errors import ObservationError
from crashloop.slo.estimates import Steps, ratio_interval, sums_in_blocks
from crashloop.slo.events import COUNTS, SECONDS, times_of
from crashloop.slo.increase import Found, ScrapeWindow, find_growth, notes, window_of
from crashloop.slo.measurements import Measured, Phase, SliResult
from crashloop.slo.rows import GaugeSli, GrowthSli, MovesSli, RatioSli
from crashloop.slo.scrapes import ScrapedSeries, Scrapes


def gauge(sli: GaugeSli, measured: Measured, window: Phase) -> Iterator[SliResult]:
    """One result per node. Raises ObservationError where the gauge, or the phase to compare with, was not scraped."""
    by_node = _series_by_node(sli, measured.scrapes)
    found = {node: _highest_value(selected, [window]) for node, selected in by_node.items()}
    if not any(highest is not None for highest in found.values()):
        raise ObservationError(f"metric {sli.metric!r} of {sli.source} was not scraped in the window.")
    before = [phase for phase in measured.phases if phase.name == sli.relative_to]
    if sli.relative_to is not None and not before:
        raise ObservationError(f"no phase {sli.relative_to!r} in this run to compare with.")
    for node, highest in found.items():
        if highest is None:
            continue
        value, scrapes = highest
        if before:
            compared = _highest_value(by_node[node], before)
            if compared is None or compared[0] <= 0:
                raise ObservationError(f"metric {sli.metric!r} has no value above 0 in phase {sli.relative_to}.")
            value /= compared[0]
        yield SliResult(value=value, samples=scrapes, group={"node": node}, from_ns=window.from_ns, to_ns=window.to_ns)


def _series_by_node(sli: GaugeSli, scrapes: Iterable[Scrapes]) -> Mapping[str, list[ScrapedSeries]]:
    """The selected series of each node."""
    found: dict[str, list[ScrapedSeries]] = {}
    for source in scrapes:
        for series in source.series if source.source.source == sli.source else ():
            if series.name == sli.metric and sli.selects(series.labels):
                found.setdefault(source.node_of(series), []).append(series)
    return found


def _highest_value(selected: Iterable[ScrapedSeries], windows: list[Phase]) -> tuple[float, int] | None:
    """The highest value, and the number of values; None without any."""
    found: list[float] = []
    for series in selected:
        inside = [(each.from_ns <= series.t_ns) & (series.t_ns <= each.to_ns) for each in windows]
        found += series.values[np.logical_or.reduce(inside)].tolist()
    return (max(found), len(found)) if found else None


THIRD_HAS = 3
"""The fewest scrapes that make a median."""


def growth_per_event(sli: GrowthSli, measured: Measured, window: Phase) -> Iterator[SliResult]:
    """One result per selected series; the samples are the events of its node in the window.

    Raises ObservationError without enough scrapes of the gauge in both thirds, or without events.
    """
    if not measured.lifecycles:
        raise ObservationError("no lifecycles were recorded, so the number of events is unknown.")
    selected = [
        (each, scrapes.node_of(each))
        for scrapes in measured.scrapes
        for each in scrapes.series
        if scrapes.source.source == sli.source and each.name == sli.metric and sli.selects(each.labels)
    ]
    if not selected:
        raise ObservationError(f"metric {sli.metric!r} of {sli.source} was not scraped in the window.")
    third = (window.to_ns - window.from_ns) / 3
    for series, node in selected:
        share = (series.t_ns - window.from_ns) / third
        first, last = (series.values[(begin <= share) & (share <= begin + 1)] for begin in (0, 2))
        if min(len(first), len(last)) < THIRD_HAS:
            raise ObservationError(
                f"metric {sli.metric!r} of {sli.source} has fewer than {THIRD_HAS} scrapes in a third."
            )
        places = (times_of(sli.per, measured, node) - window.from_ns) / third
        # The medians stand for the middles of their thirds.
        between = int(((places >= 0.5) & (places < 2.5)).sum())
        if not between:
            raise ObservationError(f"no {COUNTS[sli.per].of} in the window.")
        yield SliResult(
            value=float(np.median(last) - np.median(first)) / between,
            samples=int(((places >= 0) & (places < 3)).sum()),
            group=dict(series.labels),
            from_ns=window.from_ns,
            to_ns=window.to_ns,
        )


def ratio(sli: RatioSli, measured: Measured, window: Phase) -> SliResult:
    """Growth per event in a window, minus the growth without load if the row names such a phase.

    Raises UnknownMetric, or ObservationError where scrapes or that phase are missing.
    """
    if not measured.lifecycles and sli.per != SECONDS:
        raise ObservationError("no lifecycles were recorded, so the number of events is unknown.")
    found = find_growth(measured, sli, window.from_ns, window.to_ns)
    idle = _idle_per_s(sli, measured)
    counted: list[Steps] = []
    for source in found:
        times = np.asarray(source.scrapes.t_ns[source.window.first : source.window.last + 1], dtype=np.int64)
        rate = idle.get(source.scrapes.source.node, 0.0)
        steps = _growth_by_step(source, len(times)) - rate * np.diff(times) / 1e9
        counts = _events_by_step(sli, measured, source.scrapes.source.node, times)
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


def _growth_by_step(source: Found, scrapes: int) -> NDArray[np.float64]:
    steps = np.zeros(scrapes - 1)
    for growth in source.growths:
        steps += growth.steps
    return steps


def _events_by_step(sli: RatioSli, measured: Measured, node: str, times: NDArray[np.int64]) -> NDArray[np.float64]:
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
        for source in find_growth(measured, sli, phase.from_ns, phase.to_ns):
            node = source.scrapes.source.node
            grown[node] = grown.get(node, 0.0) + sum(growth.total for growth in source.growths)
            seconds[node] = seconds.get(node, 0.0) + source.window.seconds
    return {node: total / seconds[node] for node, total in grown.items()}


def moves(sli: MovesSli, measured: Measured, window: Phase) -> SliResult:
    """The samples are the restarts of the window. Raises ObservationError without two scrapes, or for metrics not kept."""
    seen = [
        (each, found)
        for each in measured.scrapes
        if each.source.source == sli.source and (found := window_of(each, window.from_ns, window.to_ns)) is not None
    ]
    if not seen:
        raise ObservationError(f"fewer than two scrapes of {sli.source} in the window, so no movement is known.")
    dropped = [name for name in sli.names if not any(name in each.source.families for each, _ in seen)]
    if dropped:
        raise ObservationError(f"metric {dropped[0]!r} of {sli.source} was not kept in this run.")
    missing = [name for name in sli.names if not any(_values_of_family(each, found, name) for each, found in seen)]
    still = [
        name
        for name in sli.metrics
        if name not in missing
        and not any(_has_moved(values) for each, found in seen for values in _values_of_family(each, found, name))
    ]
    restarts = times_of("restarts", measured)
    return SliResult(
        value=float(len(missing) + len(still)),
        samples=int(((restarts >= window.from_ns) & (restarts < window.to_ns)).sum()),
        from_ns=window.from_ns,
        to_ns=window.to_ns,
        notes=(*(f"{name} does not exist." for name in missing), *(f"{name} did not move." for name in still)),
    )


def _values_of_family(scrapes: Scrapes, window: ScrapeWindow, name: str) -> list[list[float]]:
    """Of every series of a family; a histogram counts by its _count. A series that came within the window rose from 0."""
    found = []
    for series in scrapes.series:
        if series.name not in (name, f"{name}_count"):
            continue
        first, last = np.searchsorted(series.t_ns, [window.from_ns, window.to_ns + 1])
        came = [0.0] if first == 0 and len(series.t_ns) and series.t_ns[0] > window.from_ns else []
        values = [*came, *series.values[first:last].tolist()]
        if values:
            found.append(values)
    return found


def _has_moved(values: list[float]) -> bool:
    return min(values) < max(values)
