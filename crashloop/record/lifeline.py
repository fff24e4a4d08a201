"""What ends a recording early: the end of the parent process, a signal, the crash of a thread.

The recorder lives as long as its parent process holds the other end of its standard input. End of file, SIGTERM and SIGINT
have the same effect: interrupt the recording, tear down, exit. While a provider brings a cluster up or down the main thread
may be deep in a call, so there the interruption is raised. A channel that has crashed loses evidence unseen, so nothing
should go on without it.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

from crashloop.errors import CrashloopError


class Interrupted(KeyboardInterrupt):
    """The life line has broken. Not an error: providers clean up as on Ctrl-C."""


class Lifeline:
    """Watches standard input and signals; made in the main thread."""

    def __init__(self, stdin: int = 0) -> None:
        self.broken = threading.Event()
        self._stdin = stdin
        self._raising = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._interrupted)
        threading.Thread(target=self._watch, name="lifeline", daemon=True).start()

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Inside, a broken life line raises Interrupted in the main thread, at once or when it breaks."""
        self._raising = True
        try:
            if self.broken.is_set():
                raise Interrupted
            yield
        finally:
            self._raising = False

    def _interrupted(self, _number: int, _frame: FrameType | None) -> None:
        self.broken.set()
        if self._raising:
            self._raising = False
            raise Interrupted

    def _watch(self) -> None:
        while os.read(self._stdin, 4096):
            pass
        # A signal, since it also ends a call in which the main thread waits.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


class ThreadCrashes:
    """Notes the first one from `with` to its end. Faults of the suite still reach the previous excepthook."""

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
