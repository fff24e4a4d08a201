"""Latencies over time, from scrape to scrape, beside their promises. Pure.

A row is judged by group and window; here all of its selection counts together, so that a line shows when it became slow.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from crashloop.report.stress.results import Point, Series
from crashloop.slo.histogram import Histogram
from crashloop.slo.increase import growths, window_of
from crashloop.slo.rows import HistogramSli, SloRow
from crashloop.slo.scrapes import Scrapes

SHOWN: Mapping[str, str] = {
    "api-call-latency-mutating": "mutating API calls",
    "pleg-relist": "relists of the kubelet",
}
"""Rows that are shown over time, with the name of their samples."""


def latencies(rows: Iterable[SloRow], scrapes: Sequence[Scrapes], *, began_ns: int) -> Iterator[Series]:
    """One line per row and source; seconds since the load began. Scrapes without a new sample give no point."""
    for row in rows:
        if row.id not in SHOWN or not isinstance(row.sli, HistogramSli) or row.percentile is None:
            continue
        for each in scrapes:
            points = tuple(_points(row.sli, row.percentile, each, began_ns)) if each.t_ns else ()
            if each.source.source == row.sli.source and points:
                yield Series(
                    name=f"latency: p{row.percentile:g} of {SHOWN[row.id]}",
                    node=each.source.node,
                    unit=row.target.unit,
                    target=row.target.bound,
                    slo=row.id,
                    at_most=_last_edge(row.sli, each),
                    points=points,
                )


def _points(sli: HistogramSli, percentile: float, scrapes: Scrapes, began_ns: int) -> Iterator[Point]:
    window = window_of(scrapes, scrapes.t_ns[0], scrapes.t_ns[-1])
    if window is None:
        return
    by_edge: defaultdict[float, list[NDArray[np.float64]]] = defaultdict(list)
    for growth in growths(scrapes, f"{sli.metric}_bucket", window, sli.selects):
        by_edge[float(growth.labels["le"])].append(growth.steps)
    counts = {edge: np.sum(steps, axis=0) for edge, steps in by_edge.items()}
    for step, t_ns in enumerate(scrapes.t_ns[window.first + 1 : window.last + 1]):
        histogram = Histogram.of((edge, float(found[step])) for edge, found in counts.items())
        if histogram.samples:
            yield (round((t_ns - began_ns) / 1e9, 2), round(histogram.quantile(percentile).value, 4))


def _last_edge(sli: HistogramSli, scrapes: Scrapes) -> float | None:
    """The histogram's highest edge."""
    edges = (float(each.labels["le"]) for each in scrapes.series if each.name == f"{sli.metric}_bucket")
    return max((edge for edge in edges if math.isfinite(edge)), default=None)
