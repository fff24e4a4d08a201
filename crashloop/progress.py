"""Progress for a person: a spinner on a terminal, plain lines with times elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console


class ConsoleProgress:
    """Implements `crashloop.cluster.provider.Progress` on a console (standard error unless another is given)."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, highlight=False)

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Announce a step and, when it ends, how long it took."""
        began = time.monotonic()
        if not self.console.is_terminal:
            self._line(f"{text} ...")
        with self.console.status(text, spinner="line") if self.console.is_terminal else nullcontext():
            yield
        self._line(f"{text}: {time.monotonic() - began:.1f} s")

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
