"""Scrapes of one source into one file."""

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from crashloop.slo.exposition import SeriesKey
from crashloop.slo.scrape_lines import Differences, to_line
from crashloop.slo.scrapes import MissedScrape, SourceLine

Read = Callable[[], Iterable[tuple[bytes, SeriesKey, float]]]


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Cost of measuring one source."""

    source: str
    node: str
    scrapes: int
    missed: int
    cpu_s: float
    """CPU of the harness for requests, parsing and writing."""
    longest_s: float
    """The longest time to an answer."""
    bytes_written: int


class Scraper:
    """Appends the scrapes of a source to its file, one scrape at a time, from any thread."""

    def __init__(self, read: Read, path: Path, source: SourceLine) -> None:
        self.source = source
        self._read = read
        self._differences = Differences()
        self._lock = threading.Lock()
        self._file = path.open("xb")
        self._file.write(to_line(source))
        self._scrapes = self._missed = 0
        self._cpu_s = self._longest_s = 0.0

    def scrape(self) -> None:
        """Scrape once; a missing or unreadable answer is written as a gap."""
        with self._lock:
            if self._file.closed:
                return
            began_ns, cpu_ns = time.time_ns(), time.thread_time_ns()
            try:
                found = list(self._read())
            except Exception as error:  # noqa: BLE001 - a gap of this source, whatever it was; the next may succeed
                self._missed += 1
                reason = (str(error) or type(error).__name__).splitlines()[0]
                self._file.write(to_line(MissedScrape(from_ns=began_ns, to_ns=time.time_ns(), reason=reason)))
            else:
                now_ns = time.time_ns()
                self._scrapes += 1
                self._longest_s = max(self._longest_s, (now_ns - began_ns) / 1e9)
                for line in self._differences.lines(now_ns, now_ns - began_ns, found):
                    self._file.write(to_line(line))
            self._file.flush()
            self._cpu_s += (time.thread_time_ns() - cpu_ns) / 1e9

    def close(self) -> Cost:
        """Close the file; the cost of its scrapes."""
        with self._lock:
            size = self._file.tell()
            self._file.close()
        return Cost(
            source=self.source.source,
            node=self.source.node,
            scrapes=self._scrapes,
            missed=self._missed,
            cpu_s=round(self._cpu_s, 3),
            longest_s=round(self._longest_s, 3),
            bytes_written=size,
        )
