"""From the Prometheus text format, reduced to the requested families, to lines of a file of scrapes, and back.

An API server sends some 20,000 lines, of which a few hundred matter, with the same labels in every scrape. So lines of
other families are dropped unparsed, and the labels of a series are parsed once. In the file only values that changed are
written.
Source: Prometheus exposition formats, "Text-based format"; the labels are parsed by prometheus_client.
"""

from collections.abc import Iterable, Iterator
from math import isfinite
from typing import NamedTuple

import msgspec
import numpy as np
from prometheus_client.parser import text_string_to_metric_families

from crashloop.errors import UsageError
from crashloop.slo.scrapes import (
    METRICS_FORMAT,
    STAMPED,
    Line,
    MissedScrape,
    ScrapedSeries,
    ScrapeLine,
    Scrapes,
    SeriesLine,
    SourceLine,
    stamp_of,
)

_PARTS = ("", "_bucket", "_sum", "_count")


class SeriesKey(NamedTuple):
    """The series of a value."""

    name: str
    labels: dict[str, str]


class Exposition:
    """Reads the answers of one source."""

    def __init__(self, families: Iterable[str]) -> None:
        self._names = frozenset((family + part).encode() for family in families for part in _PARTS)
        self._known: dict[bytes, SeriesKey] = {}

    def read(self, answer: bytes) -> Iterator[tuple[bytes, SeriesKey, float]]:
        """Every value with its series and a key that is stable over all answers. Raises ValueError if it is malformed."""
        for line in answer.split(b"\n"):
            end = line.find(b"{")
            if line[: end if end >= 0 else line.find(b" ")] not in self._names:
                continue
            at = line.rfind(b"}") + 1 or line.find(b" ")
            key = line[:at]
            series, (value, *stamp) = self._series(key), line[at:].split()
            yield key, series, float(value)
            # Of other values the time of the scrape counts instead.
            if stamp and series.name in STAMPED:
                yield key + b" stamp", SeriesKey(stamp_of(series.name), series.labels), int(stamp[0]) / 1000

    def _series(self, key: bytes) -> SeriesKey:
        known = self._known.get(key)
        if known is None:
            (family,) = text_string_to_metric_families(key.decode() + " 0\n")
            known = self._known[key] = SeriesKey(family.samples[0].name, dict(family.samples[0].labels))
        return known


_decode_line = msgspec.json.Decoder(SourceLine | SeriesLine | ScrapeLine | MissedScrape).decode


def to_line(line: Line) -> bytes:
    """One line of the file, with its newline."""
    return msgspec.json.encode(line) + b"\n"


class Differences:
    """Turns full scrapes of one source into lines with the changes."""

    def __init__(self) -> None:
        self._ids: dict[bytes, int] = {}
        self._values: dict[int, float] = {}

    def lines(self, t_ns: int, took_ns: int, found: Iterable[tuple[bytes, SeriesKey, float]]) -> Iterator[Line]:
        """The lines of one scrape: first the series that are new."""
        now: dict[int, float] = {}
        for key, series, value in found:
            if not isfinite(value):  # of a summary without samples; JSON has no such number
                continue
            number = self._ids.get(key)
            if number is None:
                number = self._ids[key] = len(self._ids)
                yield SeriesLine(id=number, name=series.name, labels=series.labels)
            now[number] = value
        changed = {number: value for number, value in now.items() if self._values.get(number) != value}
        gone = tuple(number for number in self._values if number not in now)
        self._values = now
        yield ScrapeLine(t_ns=t_ns, took_ns=took_ns, ids=tuple(changed), values=tuple(changed.values()), gone=gone)


def read_scrapes(lines: Iterable[bytes], *, name: str = "metrics") -> Scrapes:
    """The scrapes of a file, up to the first damaged line: later lines depend on its changes.

    Raises UsageError for another kind of file, or a format that this version does not read.
    """
    reader = _ScrapesReader(name)
    for number, line in enumerate(lines, start=1):
        try:
            reader.take(_decode_line(line))
        except (msgspec.DecodeError, UnicodeDecodeError, LookupError) as error:
            reader.damaged(number, error)
            break
    return reader.scrapes()


class _ScrapesReader:
    def __init__(self, name: str) -> None:
        self._name = name
        self._source: SourceLine | None = None
        self._named: dict[int, SeriesLine] = {}
        self._current: dict[int, float] = {}
        self._columns: dict[int, tuple[list[int], list[float]]] = {}
        self._times: list[int] = []
        self._gaps: list[MissedScrape] = []
        self._damage: list[str] = []

    def take(self, line: Line) -> None:
        if isinstance(line, SourceLine):
            self._begin(line)
        elif self._source is None:
            raise UsageError(f"{self._name}: its first line is no source; expected a file of RUN/metrics.")
        elif isinstance(line, SeriesLine):
            self._named[line.id] = line
            self._columns[line.id] = ([], [])
        elif isinstance(line, ScrapeLine):
            self._scrape(line)
        else:
            self._gaps.append(line)

    def damaged(self, number: int, problem: Exception) -> None:
        if self._source is None:
            raise UsageError(f"{self._name}: line {number} cannot be read ({problem}); expected a file of RUN/metrics.")
        self._damage.append(f"line {number} cannot be read ({problem}); the rest of the file is not used")

    def scrapes(self) -> Scrapes:
        if self._source is None:
            raise UsageError(f"{self._name}: it is empty; expected a file of RUN/metrics.")
        return Scrapes(
            source=self._source,
            t_ns=tuple(self._times),
            series=tuple(self._column(number, line) for number, line in self._named.items()),
            gaps=tuple(self._gaps),
            damage=tuple(self._damage),
        )

    def _begin(self, source: SourceLine) -> None:
        if source.format != METRICS_FORMAT:
            raise UsageError(
                f"{self._name}: format {source.format!r}; this version reads {METRICS_FORMAT!r}.\n"
                "Use the crashloop that wrote it, or a newer one."
            )
        self._source = source

    def _scrape(self, line: ScrapeLine) -> None:
        if len(line.ids) != len(line.values):
            raise LookupError(f"{len(line.ids)} series have {len(line.values)} values")
        self._current |= dict(zip(line.ids, line.values, strict=True))
        for number in line.gone:
            self._current.pop(number, None)
        if unnamed := self._current.keys() - self._columns.keys():
            raise LookupError(f"series {min(unnamed)} was never named")
        self._times.append(line.t_ns)
        for number, value in self._current.items():
            times, values = self._columns[number]
            times.append(line.t_ns)
            values.append(value)

    def _column(self, number: int, line: SeriesLine) -> ScrapedSeries:
        times, values = self._columns[number]
        return ScrapedSeries(
            name=line.name,
            labels=line.labels,
            t_ns=np.asarray(times, dtype=np.int64),
            values=np.asarray(values, dtype=np.float64),
        )
