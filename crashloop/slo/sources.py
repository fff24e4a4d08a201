"""Finds a row's metric in the scrapes, or the reason of its absence."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import NamedTuple

from crashloop.errors import ObservationError
from crashloop.slo.families import SOURCES
from crashloop.slo.increase import Growth, ScrapeWindow, growths, window_of
from crashloop.slo.rows import Selection
from crashloop.slo.scrapes import Scrapes
from crashloop.slo.types import Measured

_SUFFIXES = ("_bucket", "_sum", "_count")


class UnknownMetric(Exception):
    """A row names a metric that no component is known to have: a fault of the row."""


class Found(NamedTuple):
    """The growth of a metric of one source in a window."""

    scrapes: Scrapes
    window: ScrapeWindow
    growths: tuple[Growth, ...]


def find(measured: Measured, sli: Selection, from_ns: int, to_ns: int, *, suffix: str = "") -> list[Found]:
    """The growth of the selected series, by source; a source with too few scrapes is left out.

    Raises UnknownMetric for an unknown name, ObservationError without scrapes that could have it.
    """
    sources = [each for each in measured.scrapes if each.source.source == sli.source]
    found = []
    for scrapes in sources:
        window = window_of(scrapes, from_ns, to_ns)
        if window is not None:
            found.append(Found(scrapes, window, tuple(growths(scrapes, sli.metric + suffix, window, sli.selects))))
    if not found:
        raise ObservationError(f"fewer than two scrapes of {sli.source} in the window, so the growth is unknown.")
    if not any(each.growths for each in found):
        _explain_absence(sources, sli, suffix)
    return found


def notes(found: list[Found]) -> tuple[str, ...]:
    """What the values lack."""
    damaged = (f"{each.scrapes.source.source}: {problem}." for each in found for problem in each.scrapes.damage)
    return (*(note for each in found for note in each.window.notes), *damaged)


def _explain_absence(sources: list[Scrapes], sli: Selection, suffix: str) -> None:
    """Raise, unless the metric exists and merely has no series with such labels."""
    said = {series.name for scrapes in sources for series in scrapes.series}
    if sli.metric + suffix in said:
        return
    if sli.metric in said or any(sli.metric + each in said for each in _SUFFIXES):
        kind = "no histogram" if suffix else "a histogram: name its _sum or _count"
        raise UnknownMetric(f"metric {sli.metric!r} of {sli.source} is {kind}.")
    if sli.metric not in SOURCES.get(sli.source, ()):
        close = next(iter(_close(sli, said)), None)
        raise UnknownMetric(
            f"metric {sli.metric!r}: {sli.source} never sent it, and it is not a known metric"
            + (f"; {close} is." if close else ".")
        )
    if not any(sli.metric in scrapes.source.families for scrapes in sources):
        raise ObservationError(f"metric {sli.metric!r} of {sli.source} was not kept in this run.")
    raise ObservationError(
        f"metric {sli.metric!r} of {sli.source} never appeared: no event that it counts happened, "
        "or this version does not have it."
    )


def _close(sli: Selection, said: set[str]) -> Iterator[str]:
    yield from get_close_matches(sli.metric, {*said, *SOURCES.get(sli.source, ())}, n=1)
