"""The Prometheus text format, reduced to the requested families.

An API server sends some 20,000 lines, of which a few hundred matter, with the same labels in every scrape. So lines of
other families are dropped unparsed, and the labels of a series are parsed once.
Source: Prometheus exposition formats, "Text-based format"; the labels are parsed by prometheus_client.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from crashloop.slo.families import STAMPED, stamp_of

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
