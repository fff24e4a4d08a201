"""Whether metrics exist and move: the number of those that do not, in one window."""

import numpy as np

from crashloop.errors import ObservationError
from crashloop.slo.events import times_of
from crashloop.slo.increase import ScrapeWindow, window_of
from crashloop.slo.rows import MovesSli
from crashloop.slo.scrapes import Scrapes
from crashloop.slo.types import Measured, Phase, SliResult


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
    missing = [name for name in sli.names if not any(_values(each, found, name) for each, found in seen)]
    still = [
        name
        for name in sli.metrics
        if name not in missing
        and not any(_has_moved(values) for each, found in seen for values in _values(each, found, name))
    ]
    restarts = times_of("restarts", measured)
    return SliResult(
        value=float(len(missing) + len(still)),
        samples=int(((restarts >= window.from_ns) & (restarts < window.to_ns)).sum()),
        from_ns=window.from_ns,
        to_ns=window.to_ns,
        notes=(*(f"{name} does not exist." for name in missing), *(f"{name} did not move." for name in still)),
    )


def _values(scrapes: Scrapes, window: ScrapeWindow, name: str) -> list[list[float]]:
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
