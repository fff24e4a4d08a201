"""One watch per worker: learns of the worker's pods from the API server, and reports their steps to waiting users."""

import time
from urllib.parse import urlencode

import gevent
import msgspec
from locust.env import Environment

from crashloop.errors import UsageError
from crashloop.kube.credentials import Access
from crashloop.stress.assignment import Order
from crashloop.stress.loads import WORKER_LABEL, load_of
from load.connections import Connections, Refused
from load.followed import Followed
from load.steps import SeenPod, Step

CONNECTION_S = 60
"""Life of one watch; a connection that vanished silently is noticed after this time."""
_READ_S = CONNECTION_S + 10.0
RECONNECT_S = 0.5


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str


class _PodList(msgspec.Struct):
    metadata: _ListMeta
    items: tuple[SeenPod, ...] = ()


class _WatchEvent(msgspec.Struct):
    type: str
    object: msgspec.Raw


_decode = msgspec.json.Decoder(SeenPod).decode


class _Failed(Exception):
    """The API server ended the watch."""


class Watch(Followed):
    """Runs in a greenlet of its own from `start` on, for as long as the worker lives."""

    def __init__(self, environment: Environment, access: Access, order: Order, worker: int) -> None:
        super().__init__()
        self._environment = environment
        self._connections = Connections(access)
        self._path = f"/api/v1/namespaces/{order.namespace}/pods"
        self._selector = f"{WORKER_LABEL}={worker}"
        self._loads = tuple(order.loads)
        self._version = ""

    def start(self) -> None:
        gevent.spawn(self._follow)

    def _follow(self) -> None:
        while True:
            try:
                if not self._version:
                    self._list()
                self._stream()
            except (_Failed, Refused, UsageError, OSError, msgspec.MsgspecError) as error:
                self._fire("WATCH", "pods", 0.0, error)
                gevent.sleep(RECONNECT_S)

    def _list(self) -> None:
        answer = self._connections.ask("GET", self._asked(labelSelector=self._selector), timeout_s=_READ_S)
        if answer.code != 200:
            raise Refused(answer)
        found = msgspec.json.decode(answer.body, type=_PodList)
        self._version = found.metadata.resource_version
        present = {pod.metadata.name for pod in found.items}
        for pod in found.items:
            self._see(pod)
        for name in self.missing(present):
            self._lose(name)

    def _stream(self) -> None:
        asked = self._asked(
            watch="true",
            labelSelector=self._selector,
            resourceVersion=self._version,
            allowWatchBookmarks="true",
            timeoutSeconds=str(CONNECTION_S),
        )
        decode = msgspec.json.Decoder(_WatchEvent).decode
        with self._connections.open(asked, timeout_s=_READ_S) as lines:
            for line in lines:
                self._change(decode(line))

    def _change(self, event: _WatchEvent) -> None:
        if event.type == "ERROR":
            self._version = ""
            raise _Failed(f"the watch was ended: {bytes(event.object)[:200]!r}")
        pod = _decode(event.object)
        self._version = pod.metadata.resource_version
        if event.type == "BOOKMARK":
            return
        self._see(pod)
        if event.type == "DELETED":
            self._lose(pod.metadata.name)

    def _see(self, pod: SeenPod) -> None:
        for step in self.take(pod, time.time_ns()):
            self._report(pod.metadata.name, step)

    def _lose(self, pod: str) -> None:
        self._report(pod, self.gone(pod, time.time_ns()))

    def _report(self, pod: str, step: Step) -> None:
        self._fire("POD", f"{load_of(pod, self._loads) or 'unknown'}: {step.name}", step.took_ms)

    def _fire(self, kind: str, name: str, took_ms: float, error: BaseException | None = None) -> None:
        self._environment.events.request.fire(
            request_type=kind, name=name, response_time=took_ms, response_length=0, exception=error, context={}
        )

    def _asked(self, **query: str) -> str:
        return f"{self._path}?{urlencode(query)}"
