"""The highest value of a gauge in one window, by source, alone or against the highest of another phase."""

from collections.abc import Iterator

import numpy as np

from crashloop.errors import ObservationError
from crashloop.slo.rows import GaugeSli
from crashloop.slo.scrapes import Scrapes
from crashloop.slo.types import Measured, Phase, SliResult


def gauge(sli: GaugeSli, measured: Measured, window: Phase) -> Iterator[SliResult]:
    """One result per node. Raises ObservationError where the gauge, or the phase to compare with, was not scraped."""
    sources = [each for each in measured.scrapes if each.source.source == sli.source]
    found = [(each, _highest(sli, each, [window])) for each in sources]
    if not any(highest is not None for _, highest in found):
        raise ObservationError(f"metric {sli.metric!r} of {sli.source} was not scraped in the window.")
    before = [phase for phase in measured.phases if phase.name == sli.relative_to]
    if sli.relative_to is not None and not before:
        raise ObservationError(f"no phase {sli.relative_to!r} in this run to compare with.")
    for source, highest in found:
        if highest is None:
            continue
        value, scrapes = highest
        if before:
            compared = _highest(sli, source, before)
            if compared is None or compared[0] <= 0:
                raise ObservationError(f"metric {sli.metric!r} has no value above 0 in phase {sli.relative_to}.")
            value /= compared[0]
        yield SliResult(
            value=value,
            samples=scrapes,
            group={"node": source.source.node},
            from_ns=window.from_ns,
            to_ns=window.to_ns,
        )


def _highest(sli: GaugeSli, scrapes: Scrapes, windows: list[Phase]) -> tuple[float, int] | None:
    """The highest value of all selected series, and the number of scrapes that had it; None without any."""
    found: list[float] = []
    for series in scrapes.series:
        if series.name == sli.metric and sli.selects(series.labels):
            inside = [(each.from_ns <= series.t_ns) & (series.t_ns <= each.to_ns) for each in windows]
            found += series.values[np.logical_or.reduce(inside)].tolist()
    return (max(found), len(found)) if found else None
