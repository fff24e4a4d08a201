"""HTTP requests to the server of a Demand, by the address of its pod, or to the ready endpoints of its Service in turn."""

import time
from collections.abc import Callable

from geventhttpclient.client import HTTPClientPool
from locust.contrib.fasthttp import FastHttpSession

from crashloop.stress.assignment import Operation
from crashloop.stress.loads import MAX_IN_FLIGHT
from load.server import PORT, WORK
from load.worker import Worker

ANSWER_S = 60.0
"""A client that waits longer tries again; a server that is up answers its longest queue sooner."""


Target = tuple[str, str]
"""Name and address of a pod."""


class Visits:
    """The clients of one load. Locust counts every request; answers and what is given up are written as operations."""

    def __init__(self, worker: Worker, load: str, pod: str, choose: Callable[[], Target | None] | None = None) -> None:
        """`choose` gives the pod of the next request. Default: the load's own, once it has an address."""
        self._worker = worker
        self._load = load
        self._pod = pod
        self._choose = choose or self._own
        self._sessions: dict[str, FastHttpSession] = {}
        """By address."""

    def visit(self, intended_ns: int) -> bool:
        """Send a request; whether it was answered."""
        sent_ns = time.time_ns()
        target = self._choose()
        if target is None:
            return False
        pod, address = target
        answer = self._session(address).get(WORK, name=f"{self._load}: request")
        if answer.status_code != 200:
            return False
        took_ns = time.time_ns() - sent_ns
        self._write("request", pod, intended_ns, sent_ns, took_ns=took_ns, code=200)
        return True

    def unanswered(self, intended_ns: int) -> None:
        self._write("unanswered", self._pod, intended_ns, time.time_ns(), error="given up")

    def _own(self) -> Target | None:
        """None while the pod has no address."""
        address = self._worker.watch.address(self._pod)
        return (self._pod, address) if address else None

    def _session(self, address: str) -> FastHttpSession:
        if address not in self._sessions:
            self._sessions[address] = self._open(address)
        return self._sessions[address]

    def _open(self, address: str) -> FastHttpSession:
        host = f"[{address}]" if ":" in address else address
        pool = HTTPClientPool(concurrency=MAX_IN_FLIGHT, network_timeout=ANSWER_S, connection_timeout=ANSWER_S)
        events = self._worker.environment.events.request
        return FastHttpSession(f"http://{host}:{PORT}", events, user=None, client_pool=pool)

    def _write(
        self, what: str, pod: str, intended_ns: int, sent_ns: int, *, took_ns: int = 0, code: int = 0, error: str = ""
    ) -> None:
        self._worker.write(
            Operation(
                load=self._load,
                what=what,
                pod=pod,
                intended_ns=intended_ns,
                sent_ns=sent_ns,
                took_ns=took_ns,
                code=code,
                error=error,
            )
        )
