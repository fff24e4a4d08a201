"""The highest value of a gauge in one window, by node, alone or against the highest of another phase."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from crashloop.errors import ObservationError
from crashloop.slo.rows import GaugeSli
from crashloop.slo.scrapes import ScrapedSeries, Scrapes
from crashloop.slo.types import Measured, Phase, SliResult


def gauge(sli: GaugeSli, measured: Measured, window: Phase) -> Iterator[SliResult]:
    """One result per node. Raises ObservationError where the gauge, or the phase to compare with, was not scraped."""
    by_node = _by_node(sli, measured.scrapes)
    found = {node: _highest(selected, [window]) for node, selected in by_node.items()}
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
            compared = _highest(by_node[node], before)
            if compared is None or compared[0] <= 0:
                raise ObservationError(f"metric {sli.metric!r} has no value above 0 in phase {sli.relative_to}.")
            value /= compared[0]
        yield SliResult(value=value, samples=scrapes, group={"node": node}, from_ns=window.from_ns, to_ns=window.to_ns)


def _by_node(sli: GaugeSli, scrapes: Iterable[Scrapes]) -> Mapping[str, list[ScrapedSeries]]:
    """The selected series of each node."""
    found: dict[str, list[ScrapedSeries]] = {}
    for source in scrapes:
        for series in source.series if source.source.source == sli.source else ():
            if series.name == sli.metric and sli.selects(series.labels):
                found.setdefault(source.node_of(series), []).append(series)
    return found


def _highest(selected: Iterable[ScrapedSeries], windows: list[Phase]) -> tuple[float, int] | None:
    """The highest value, and the number of values; None without any."""
    found: list[float] = []
    for series in selected:
        inside = [(each.from_ns <= series.t_ns) & (series.t_ns <= each.to_ns) for each in windows]
        found += series.values[np.logical_or.reduce(inside)].tolist()
    return (max(found), len(found)) if found else None
