"""Carries out an open model: a greenlet for each arrival at its intended time, up to a number at once."""

import time
from collections.abc import Callable

import gevent
from gevent.pool import Group

from load.pace import arrivals_ns


class Arrivals:
    """Arrivals at a rate from `start` to `stop`."""

    def __init__(
        self, rate_per_s: float, in_flight: int, arrive: Callable[[int], None], drop: Callable[[int], None]
    ) -> None:
        """`arrive` is called with the intended time and may take its time; `drop` is called where no place is left."""
        self._rate_per_s = rate_per_s
        self._in_flight = in_flight
        self._arrive = arrive
        self._drop = drop
        self._present = Group()
        self._loop: gevent.Greenlet[[], None] | None = None

    def start(self) -> None:
        self._loop = gevent.spawn(self._run)

    def stop(self, *, timeout_s: float) -> None:
        """Let nobody else come, and send those present away: their own clean-up is run."""
        if self._loop is not None:
            self._loop.kill()
        self._present.kill(block=True, timeout=timeout_s)

    def _run(self) -> None:
        for intended_ns in arrivals_ns(self._rate_per_s, time.time_ns()):
            gevent.sleep(max(0.0, (intended_ns - time.time_ns()) / 1e9))
            if len(self._present) < self._in_flight:
                self._present.spawn(self._arrive, intended_ns)
            else:
                self._drop(intended_ns)
