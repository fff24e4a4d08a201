"""The Prometheus text format, reduced to the families that are wanted.

An API server says some 20,000 lines, of which a few hundred are looked at, again and again with the same labels. So lines of
other families are dropped before anything is parsed, and the labels of a series are parsed once.
Source: Prometheus exposition formats, "Text-based format"; the labels are parsed by prometheus_client.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

_PARTS = ("", "_bucket", "_sum", "_count")


class Series(NamedTuple):
    """What a value belongs to."""

    name: str
    labels: dict[str, str]


class Exposition:
    """Reads the answers of one source."""

    def __init__(self, families: Iterable[str]) -> None:
        self._names = frozenset((family + part).encode() for family in families for part in _PARTS)
        self._known: dict[bytes, Series] = {}

    def read(self, answer: bytes) -> Iterator[tuple[bytes, Series, float]]:
        """Each value with its series and with a key that is the same in every answer. Raises ValueError if it is malformed."""
        for line in answer.split(b"\n"):
            end = line.find(b"{")
            if line[: end if end >= 0 else line.find(b" ")] not in self._names:
                continue
            at = line.rfind(b"}") + 1 or line.find(b" ")
            key = line[:at]
            # A time of the value's own may follow it; what counts here is when it was read.
            yield key, self._series(key), float(line[at:].split()[0])

    def _series(self, key: bytes) -> Series:
        known = self._known.get(key)
        if known is None:
            (family,) = text_string_to_metric_families(key.decode() + " 0\n")
            known = self._known[key] = Series(family.samples[0].name, dict(family.samples[0].labels))
        return known
