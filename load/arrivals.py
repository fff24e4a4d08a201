"""Carries out an open model: one greenlet per arrival, at its intended time, up to a number of concurrent ones."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import gevent
from gevent import GreenletExit
from gevent.pool import Group


def to_the_end(task: Callable[[], None]) -> None:
    """Run code that must not be interrupted: a greenlet that is stopped in it finishes it first."""
    carried_out = gevent.spawn(task)
    while not carried_out.dead:
        with suppress(GreenletExit):
            carried_out.join()


class Arrivals:
    """Arrivals from `start` to `stop`."""

    def __init__(
        self,
        intended: Callable[[int], Iterator[int]],
        in_flight: int,
        arrive: Callable[[int], None],
        drop: Callable[[int], None],
    ) -> None:
        """`intended` gives the intended times from a beginning on (UTC ns). `arrive` is called with a time and may block;
        `drop` is called if no place is left."""
        self._intended = intended
        self._in_flight = in_flight
        self._arrive = arrive
        self._drop = drop
        self._present = Group()
        self._loop: gevent.Greenlet[[], None] | None = None

    def start(self) -> None:
        self._loop = gevent.spawn(self._run)

    def stop(self, *, timeout_s: float) -> None:
        """Admit no further arrival, and stop the present ones, which run their clean-up."""
        if self._loop is not None:
            self._loop.kill()
        self._present.kill(block=True, timeout=timeout_s)

    def _run(self) -> None:
        for intended_ns in self._intended(time.time_ns()):
            gevent.sleep(max(0.0, (intended_ns - time.time_ns()) / 1e9))
            if len(self._present) < self._in_flight:
                self._present.spawn(self._arrive, intended_ns)
            else:
                self._drop(intended_ns)
