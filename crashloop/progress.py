"""Progress for a person: a spinner on a terminal, plain lines with times elsewhere."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

REMIND_EVERY_S = 60.0
"""Interval of progress lines of a long step; several CI systems end a job that prints nothing."""


class ConsoleProgress:
    """Implements `crashloop.cluster.provider.Progress` on a console (standard error unless another is given)."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, highlight=False)

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Announce a step and, when it ends, how long it took."""
        began = time.monotonic()
        with self._spinner(text) if self.console.is_terminal else self._lines(text, began):
            yield
        self._line(f"{text}: {time.monotonic() - began:.1f} s")

    @contextmanager
    def _spinner(self, text: str) -> Iterator[None]:
        columns = SpinnerColumn("line"), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
        with Progress(*columns, console=self.console, transient=True) as progress:
            progress.add_task(text, total=None)
            yield

    @contextmanager
    def _lines(self, text: str, began: float) -> Iterator[None]:
        self._line(f"{text} ...")
        ended = threading.Event()

        def remind() -> None:
            while not ended.wait(REMIND_EVERY_S):
                self._line(f"{text}: {time.monotonic() - began:.0f} s so far")

        reminder = threading.Thread(target=remind, daemon=True)
        reminder.start()
        try:
            yield
        finally:
            ended.set()
            reminder.join()

    def _line(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)


class SilentProgress:
    """For callers that want no output."""

    @contextmanager
    def step(self, text: str) -> Iterator[None]:  # noqa: ARG002
        yield


def default_progress() -> ConsoleProgress:
    """Progress on standard error."""
    return ConsoleProgress(Console(file=sys.stderr, highlight=False))
