"""One history file: append-only, one complete line per event, positions without holes, sealed once."""

import threading
from collections.abc import Iterable
from pathlib import Path

import msgspec

from crashloop.history.event import Event, to_line


class HistoryFile:
    """Written by many threads. Each line reaches the operating system before `append` returns."""

    def __init__(self, path: Path) -> None:
        """Start a history. Raises FileExistsError: evidence is never overwritten."""
        self.path = path
        self._lock = threading.Lock()
        self._file = path.open("xb", buffering=0)
        self._next = 0

    @property
    def is_sealed(self) -> bool:
        return self._file.closed

    def append(self, event: Event) -> bool:
        """Give the event its position and write it; False if the history is sealed."""
        with self._lock:
            if self._file.closed:
                return False
            self._write(event)
            return True

    def seal(self, last: Iterable[Event]) -> None:
        """Write the last events, `end` among them, with nothing in between, and close the file."""
        with self._lock:
            if not self._file.closed:
                for event in last:
                    self._write(event)
                self._file.close()

    def _write(self, event: Event) -> None:
        self._file.write(to_line(msgspec.structs.replace(event, seq=self._next)))
        self._next += 1
