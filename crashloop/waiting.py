"""Waiting for a named condition: the only module that sleeps.

A wait names its condition and its deadline, and its message has what was seen last. A probe that raises ends the wait, for a
condition that can no longer come true, unless the wait says that such an error may pass; then its text is what was seen last.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from crashloop.errors import ClusterError

T = TypeVar("T")


class WaitTimeout(ClusterError):
    """The condition did not come true in time."""


def wait_until(
    description: str,
    probe: Callable[[], T | None],
    *,
    timeout_s: float,
    every_s: float = 0.1,
    not_yet: type[Exception] | tuple[type[Exception], ...] = (),
    last_seen: Callable[[], str] = lambda: "",
) -> T:
    """Call `probe` until its answer counts as true (an empty list or 0 does not), and return that.

    Raises WaitTimeout with the description and what was last seen: the probe's last exception if it was one of `not_yet`, else
    `last_seen`. Other exceptions of the probe pass through.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        error: Exception | None = None
        try:
            found = probe()
            if found:
                return found
        except not_yet as passing:
            error = passing
        if time.monotonic() >= deadline:
            seen = last_seen() if error is None else str(error) or type(error).__name__
            raise WaitTimeout(
                f"waited {timeout_s:g} s for: {description}." + (f"\nLast seen: {seen}" if seen else "")
            ) from error
        time.sleep(min(every_s, max(deadline - time.monotonic(), 0.0)))


def pause(seconds: float) -> None:
    """Let a stated interval pass, for work that is done at a fixed rate."""
    time.sleep(max(seconds, 0.0))
