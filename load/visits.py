"""HTTP requests to the server of a Demand, by the address of its pod."""

import time

from geventhttpclient.client import HTTPClientPool
from locust.contrib.fasthttp import FastHttpSession

from crashloop.stress.assignment import Operation
from crashloop.stress.loads import MAX_IN_FLIGHT
from load.server import PORT, WORK
from load.worker import Worker

ANSWER_S = 60.0
"""A client that waits longer tries again; a server that is up answers its longest queue sooner."""


class Visits:
    """The clients of one pod. Locust counts every request; answers and what is given up are written as operations."""

    def __init__(self, worker: Worker, load: str, pod: str) -> None:
        self._worker = worker
        self._load = load
        self._pod = pod
        self._session: FastHttpSession | None = None

    def visit(self, intended_ns: int) -> bool:
        """Send a request; whether it was answered."""
        sent_ns = time.time_ns()
        session = self._session or self._open()
        if session is None:
            return False
        answer = session.get(WORK, name=f"{self._load}: request")
        if answer.status_code != 200:
            return False
        took_ns = time.time_ns() - sent_ns
        self._write("request", intended_ns, sent_ns, took_ns=took_ns, code=200)
        return True

    def unanswered(self, intended_ns: int) -> None:
        self._write("unanswered", intended_ns, time.time_ns(), error="given up")

    def _open(self) -> FastHttpSession | None:
        """None while the pod has no address."""
        address = self._worker.watch.address(self._pod)
        if not address:
            return None
        host = f"[{address}]" if ":" in address else address
        pool = HTTPClientPool(concurrency=MAX_IN_FLIGHT, network_timeout=ANSWER_S, connection_timeout=ANSWER_S)
        events = self._worker.environment.events.request
        self._session = FastHttpSession(f"http://{host}:{PORT}", events, user=None, client_pool=pool)
        return self._session

    def _write(
        self, what: str, intended_ns: int, sent_ns: int, *, took_ns: int = 0, code: int = 0, error: str = ""
    ) -> None:
        self._worker.write(
            Operation(
                load=self._load,
                what=what,
                pod=self._pod,
                intended_ns=intended_ns,
                sent_ns=sent_ns,
                took_ns=took_ns,
                code=code,
                error=error,
            )
        )
