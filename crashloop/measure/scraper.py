"""Scrapes of one source into one file."""

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from crashloop.slo.exposition import Differences, SeriesKey, to_line
from crashloop.slo.scrapes import MissedScrape, SourceLine

Read = Callable[[], Iterable[tuple[bytes, SeriesKey, float]]]


class Scraper:
    """Appends the scrapes of a source to its file, one scrape at a time, from any thread."""

    def __init__(self, read: Read, path: Path, source: SourceLine) -> None:
        self.source = source
        self._read = read
        self._differences = Differences()
        self._lock = threading.Lock()
        self._file = path.open("xb")
        self._file.write(to_line(source))

    def scrape(self) -> None:
        """Scrape once; a missing or unreadable answer is written as a gap."""
        with self._lock:
            if self._file.closed:
                return
            began_ns = time.time_ns()
            try:
                found = list(self._read())
            except Exception as error:  # noqa: BLE001 - a gap of this source, whatever it was; the next may succeed
                reason = (str(error) or type(error).__name__).splitlines()[0]
                self._file.write(to_line(MissedScrape(from_ns=began_ns, to_ns=time.time_ns(), reason=reason)))
            else:
                now_ns = time.time_ns()
                for line in self._differences.lines(now_ns, now_ns - began_ns, found):
                    self._file.write(to_line(line))
            self._file.flush()

    def close(self) -> None:
        with self._lock:
            self._file.close()
