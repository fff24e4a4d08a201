"""Crashes of threads: a channel that has crashed loses evidence unseen, so nothing should go on without it."""

import threading
from typing import Self

from crashloop.errors import CrashloopError


class ThreadCrashes:
    """Notes the first one from `with` to its end. Only faults of the suite are printed as well, by whoever did so before."""

    def __init__(self) -> None:
        self.first: BaseException | None = None
        self._before = threading.excepthook

    def __enter__(self) -> Self:
        self._before, threading.excepthook = threading.excepthook, self._take
        return self

    def __exit__(self, *_: object) -> None:
        threading.excepthook = self._before

    def _take(self, crash: threading.ExceptHookArgs) -> None:
        self.first = self.first or crash.exc_value
        if not isinstance(crash.exc_value, CrashloopError):
            self._before(crash)
