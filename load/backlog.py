"""Requests of an open model that are kept until they are answered, at most so many of them at the server at once."""

import heapq
import time
from collections.abc import Callable, Iterator

import gevent
from gevent.event import Event
from gevent.pool import Group

AGAIN_S = 1.0
"""Wait of a client whose request was refused or broken off, before it takes the next one."""


class Backlog:
    """Requests from `start` to `stop`; those that wait are sent in the order of their intended times."""

    def __init__(
        self,
        intended: Callable[[int], Iterator[int]],
        in_flight: int,
        request: Callable[[int], bool],
        unanswered: Callable[[int], None],
    ) -> None:
        """`intended` gives the intended times from a beginning on (UTC ns). `request` is called with a time, may block, and
        returns whether it was answered; `unanswered` is called for requests that are given up."""
        self._intended = intended
        self._in_flight = in_flight
        self._request = request
        self._unanswered = unanswered
        self._waiting: list[int] = []
        self._sent: set[int] = set()
        self._came = Event()
        self._group = Group()

    def start(self) -> None:
        self._group.spawn(self._arrive)
        for _ in range(self._in_flight):
            self._group.spawn(self._send)

    def stop(self, *, timeout_s: float) -> None:
        """Send nothing more; give up what waits or is at the server."""
        self._group.kill(block=True, timeout=timeout_s)
        self._waiting += self._sent
        self.give_up()

    def give_up(self) -> None:
        """Give up what waits; requests at the server stay there."""
        given_up, self._waiting = sorted(self._waiting), []
        for intended_ns in given_up:
            self._unanswered(intended_ns)

    def _arrive(self) -> None:
        for intended_ns in self._intended(time.time_ns()):
            gevent.sleep(max(0.0, (intended_ns - time.time_ns()) / 1e9))
            heapq.heappush(self._waiting, intended_ns)
            self._came.set()

    def _send(self) -> None:
        while True:
            if not self._waiting:
                self._came.clear()
                self._came.wait()
                continue
            intended_ns = heapq.heappop(self._waiting)
            self._sent.add(intended_ns)
            answered = self._request(intended_ns)
            self._sent.remove(intended_ns)
            if not answered:
                heapq.heappush(self._waiting, intended_ns)
                gevent.sleep(AGAIN_S)
