"""How much a gauge grows per event in one window: what every event leaves behind.

Medians of thirds, because a scrape in the midst of a restart sees what the restart holds only for a moment.
"""

from collections.abc import Iterator

import numpy as np

from crashloop.errors import ObservationError
from crashloop.slo.events import COUNTS, times_of
from crashloop.slo.rows import GrowthSli
from crashloop.slo.types import Measured, Phase, SliResult

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
