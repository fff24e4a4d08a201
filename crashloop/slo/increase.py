"""Growth of counters in a window, from the scrapes nearest to its ends, or the reason why a row's metric is absent.

Theory of operation. A counter starts at 0 when its process starts, and a series appears with its first count. So between two
scrapes it grew by the difference; or by its whole value, if it is new, if it fell, or if the process was restarted in
between (process_start_time_seconds). A series that scrapes lack for a while, as the kubelet leaves out the CPU of a pod
whose container is down, grew by the difference to its value before. Counts between a process's last scrape and its end are
lost: every such reset between two scrapes that have the series is reported. A missed scrape loses nothing, unless a reset lies
in the same gap.

A kubelet brings the CPU of a pod up to date about every ten seconds, whenever it is scraped, and states the time beside each
value. So CPU of a pod is also known by the times at which it was counted.
"""

from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from crashloop.errors import ObservationError
from crashloop.slo.measurements import Measured
from crashloop.slo.rows import Selection
from crashloop.slo.scrapes import SOURCES, Labels, ScrapedSeries, Scrapes, stamp_of

PROCESS_START = "process_start_time_seconds"
STARTED_ANEW_S = 1.5
"""The start time is relative to the host's boot time, which may be read a second differently."""

Selector = Callable[[Labels], bool]


class ScrapeWindow(msgspec.Struct, frozen=True, kw_only=True):
    """The scrapes of one source for a window."""

    first: int
    last: int
    """Indices of Scrapes.t_ns; the baseline and the end."""
    from_ns: int
    to_ns: int
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        return (self.to_ns - self.from_ns) / 1e9


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """Growth of one series."""

    labels: dict[str, str]
    steps: NDArray[np.float64]
    """Between every two consecutive scrapes of the window."""

    @property
    def total(self) -> float:
        return float(self.steps.sum())


def window_of(scrapes: Scrapes, from_ns: int, to_ns: int) -> ScrapeWindow | None:
    """The scrapes nearest to both ends; None if these are not two, the end after the begin."""
    times = np.asarray(scrapes.t_ns, dtype=np.int64)
    if len(times) < 2:
        return None
    first, last = int(np.abs(times - from_ns).argmin()), int(np.abs(times - to_ns).argmin())
    if first >= last:
        return None
    begin, end = scrapes.t_ns[first], scrapes.t_ns[last]
    return ScrapeWindow(
        first=first,
        last=last,
        from_ns=begin,
        to_ns=end,
        notes=tuple(_shortcomings(scrapes, begin, end, from_ns, to_ns)),
    )


def times_in(scrapes: Scrapes, window: ScrapeWindow) -> NDArray[np.int64]:
    """The times of the scrapes in a window."""
    return np.asarray(scrapes.t_ns[window.first : window.last + 1], dtype=np.int64)


def selected(selection: Selection, scrapes: Iterable[Scrapes]) -> Iterator[tuple[Scrapes, ScrapedSeries]]:
    """The series of a selection, each with its source."""
    for source in scrapes:
        for each in source.series if source.source.source == selection.source else ():
            if each.name == selection.metric and selection.selects(each.labels):
                yield source, each


def growths(scrapes: Scrapes, name: str, window: ScrapeWindow, selects: Selector = lambda _: True) -> Iterator[Growth]:
    """Growth in the window of every selected series of that name."""
    times = times_in(scrapes, window)
    anew = _started_anew(scrapes, times)
    for series in scrapes.series:
        if series.name == name and selects(series.labels):
            values = _aligned_to_scrapes(series, times)
            steps = (
                _steps_after_absence(scrapes, series, window)
                if np.isnan(values[0])
                else _steps_of_counter(values, anew)
            )
            yield Growth(labels=series.labels, steps=steps)


def resets(scrapes: Scrapes, name: str, window: ScrapeWindow) -> list[tuple[int, int]]:
    """Pairs of scrapes of the window (UTC ns) with a reset of the metric between them: counts in between may be lost."""
    times = times_in(scrapes, window)
    anew = _started_anew(scrapes, times)
    for series in scrapes.series:
        if series.name == name:
            values = _aligned_to_scrapes(series, times)
            anew = anew | (values[1:] < values[:-1])
    return [(int(times[at]), int(times[at + 1])) for at in np.flatnonzero(anew)]


def _aligned_to_scrapes(series: ScrapedSeries, times: NDArray[np.int64]) -> NDArray[np.float64]:
    """The values at every scrape, nan where the scrape lacks the series."""
    found = np.full(len(times), np.nan)
    at = np.searchsorted(times, series.t_ns)
    known = at < len(times)
    known[known] = times[at[known]] == series.t_ns[known]
    found[at[known]] = series.values[known]
    return found


def _steps_after_absence(scrapes: Scrapes, series: ScrapedSeries, window: ScrapeWindow) -> NDArray[np.float64]:
    """Of a series that the first scrape of the window lacks: it may have been there before."""
    begin_ns = scrapes.t_ns[window.first]
    earlier = series.t_ns[series.t_ns < begin_ns]
    first = scrapes.t_ns.index(int(earlier[-1])) if len(earlier) else window.first
    times = np.asarray(scrapes.t_ns[first : window.last + 1], dtype=np.int64)
    return _steps_of_counter(_aligned_to_scrapes(series, times), _started_anew(scrapes, times))[window.first - first :]


def _steps_of_counter(values: NDArray[np.float64], anew: NDArray[np.bool_]) -> NDArray[np.float64]:
    places = np.arange(len(values))
    last = np.maximum.accumulate(np.where(np.isnan(values), -1, places))[:-1]  # -1: not seen yet
    before, after = np.where(last < 0, np.nan, values[last]), values[1:]
    starts = np.concatenate(([0], np.cumsum(anew)))
    from_zero = np.isnan(before) | (starts[1:] > starts[last]) | (after < before)
    return np.where(np.isnan(after), 0.0, np.where(from_zero, after, after - before))


def _started_anew(scrapes: Scrapes, times: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the process was restarted, between every two consecutive scrapes."""
    for series in scrapes.series:
        if series.name == PROCESS_START:
            return np.abs(np.diff(_aligned_to_scrapes(series, times))) > STARTED_ANEW_S
    return np.zeros(max(len(times) - 1, 0), dtype=np.bool_)


def _shortcomings(scrapes: Scrapes, begin: int, end: int, from_ns: int, to_ns: int) -> Iterator[str]:
    who = f"{scrapes.source.source} of {scrapes.source.node}" if scrapes.source.node else scrapes.source.source
    allowed_ns = scrapes.source.interval_s * 1e9
    for edge, seen, meant in (("begins", begin, from_ns), ("ends", end, to_ns)):
        if abs(seen - meant) > allowed_ns:
            yield f"The window of {who} {edge} {(seen - meant) / 1e9:+.1f} s off: no scrape is nearer."
    missed = [gap for gap in scrapes.gaps if gap.from_ns < end and gap.to_ns > begin]
    if missed:
        longest = max(gap.to_ns - gap.from_ns for gap in missed) / 1e9
        yield f"{who}: scrapes missed: {len(missed)}, the longest for {longest:.1f} s ({missed[-1].reason.rstrip('.')})."
    times = np.asarray(scrapes.t_ns, dtype=np.int64)
    inside = times[(times >= begin) & (times <= end)]
    for apart_ns in np.diff(inside)[_started_anew(scrapes, inside)]:
        yield (
            f"{who} was restarted between two scrapes {apart_ns / 1e9:.1f} s apart: "
            "its counts after the first of them are lost."
        )


_SUFFIXES = ("_bucket", "_sum", "_count")


class UnknownMetric(Exception):
    """A row names a metric that no component is known to have: a fault of the row."""


class Found(NamedTuple):
    """The growth of a metric of one source in a window."""

    scrapes: Scrapes
    window: ScrapeWindow
    growths: tuple[Growth, ...]

    @property
    def times_ns(self) -> NDArray[np.int64]:
        """Of the scrapes in the window."""
        return times_in(self.scrapes, self.window)

    @property
    def total(self) -> float:
        return sum(each.total for each in self.growths)


def find_growth(measured: Measured, sli: Selection, from_ns: int, to_ns: int, *, suffix: str = "") -> list[Found]:
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
        close = next(iter(_close_names(sli, said)), None)
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


def _close_names(sli: Selection, said: set[str]) -> Iterator[str]:
    yield from get_close_matches(sli.metric, {*said, *SOURCES.get(sli.source, ())}, n=1)


class CountedCpu(NamedTuple):
    """CPU seconds that a pod had used."""

    times_s: NDArray[np.float64]
    """Of the values, in order, each once; UTC."""
    values_s: NDArray[np.float64]

    @property
    def first_s(self) -> float:
        return float(self.times_s[0])

    @property
    def last_s(self) -> float:
        return float(self.times_s[-1])

    def used_s(self, at_s: float) -> float:
        """Up to a time: in a straight line between two values."""
        return float(np.interp(at_s, self.times_s, self.values_s))


def counted_cpu(scrapes: Iterable[Scrapes], counter: Selection) -> CountedCpu | None:
    """The values of the only series of a counter; None without their times, or with fewer than two."""
    for source in scrapes:
        if source.source.source == counter.source:
            found = [each for each in source.series if counter.selects(each.labels)]
            values = next((each for each in found if each.name == counter.metric), None)
            stamps = next((each for each in found if each.name == stamp_of(counter.metric)), None)
            if values is not None and stamps is not None:
                return _with_times(values, stamps)
    return None


def _with_times(values: ScrapedSeries, stamps: ScrapedSeries) -> CountedCpu | None:
    _, at, of = np.intersect1d(values.t_ns, stamps.t_ns, return_indices=True)
    times_s, first = np.unique(stamps.values[of], return_index=True)
    return CountedCpu(times_s, values.values[at][first]) if len(times_s) > 1 else None
