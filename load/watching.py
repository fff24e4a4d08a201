"""One watch per worker: follows the worker's pods, and reports their steps to waiting users."""

import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import urlencode, urlsplit

import gevent
import msgspec
from gevent.event import Event
from locust.env import Environment

from crashloop.kube.credentials import Access
from crashloop.stress.assignment import Order
from crashloop.stress.loads import WORKER_LABEL, load_of
from load.steps import SeenPod, Steps

CONNECTION_S = 60
"""Life of one watch; a connection that vanished silently is noticed after this time."""
RECONNECT_S = 0.5


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str


class _PodList(msgspec.Struct):
    metadata: _ListMeta
    items: tuple[SeenPod, ...] = ()


class _WatchEvent(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Failed(Exception):
    """The API server did not answer, or refused."""


class Watch:
    """Runs in a greenlet of its own from `start` on, for as long as the worker lives."""

    def __init__(self, environment: Environment, access: Access, order: Order, worker: int) -> None:
        self._environment = environment
        self._access = access
        self._path = f"/api/v1/namespaces/{order.namespace}/pods"
        self._selector = f"{WORKER_LABEL}={worker}"
        self._loads = tuple(order.loads)
        self._version = ""
        self._pods: dict[str, Steps] = {}
        self._changed = Event()

    def start(self) -> None:
        gevent.spawn(self._follow)

    def expect(self, pod: str, asked_ns: int) -> None:
        """Register a pod before its creation; its steps are timed from now."""
        self._pods[pod] = Steps(asked_ns)

    def deleting(self, pod: str, asked_ns: int) -> None:
        """Register the request for a pod's deletion."""
        if pod in self._pods:
            self._pods[pod].deleting_ns = asked_ns

    def forget(self, pod: str) -> None:
        """Forget a pod whose creation failed."""
        self._pods.pop(pod, None)

    def wait_for(self, owner: str, step: str, *, timeout_s: float) -> bool:
        """Whether the pod of that name, or a pod of the object of that name, reached a step in time."""
        return self._wait(lambda: any(step in self._pods[pod].reached for pod in self._of(owner)), timeout_s)

    def address(self, pod: str) -> str:
        """The IP address of a pod; empty while it has none."""
        return self._pods[pod].address if pod in self._pods else ""

    def wait_gone(self, owner: str, *, timeout_s: float) -> bool:
        """Whether the pod of that name, and all pods of the object of that name, were gone in time."""
        return self._wait(lambda: not self._of(owner), timeout_s)

    def _of(self, owner: str) -> list[str]:
        return [pod for pod in self._pods if pod == owner or pod.startswith(f"{owner}-")]

    def _wait(self, holds: Callable[[], bool], timeout_s: float) -> bool:
        deadline_s = time.monotonic() + timeout_s
        while not holds():
            if not self._changed.wait(timeout=max(0.0, deadline_s - time.monotonic())):
                return False
        return True

    def _follow(self) -> None:
        while True:
            try:
                if not self._version:
                    self._list()
                self._stream()
            except (_Failed, OSError, HTTPException, msgspec.MsgspecError) as error:
                self._fire("WATCH", "pods", 0.0, error)
                gevent.sleep(RECONNECT_S)

    def _list(self) -> None:
        with self._get(labelSelector=self._selector) as answer:
            found = msgspec.json.decode(answer.read(), type=_PodList)
        self._version = found.metadata.resource_version
        present = {pod.metadata.name for pod in found.items}
        for pod in found.items:
            self._take(pod)
        for name in [name for name, steps in self._pods.items() if steps.reached and name not in present]:
            self._gone(name)

    def _stream(self) -> None:
        with self._get(
            watch="true",
            labelSelector=self._selector,
            resourceVersion=self._version,
            allowWatchBookmarks="true",
            timeoutSeconds=str(CONNECTION_S),
        ) as answer:
            for line in answer:
                self._change(msgspec.json.decode(line, type=_WatchEvent))

    def _change(self, event: _WatchEvent) -> None:
        if event.type == "ERROR":
            self._version = ""
            raise _Failed(f"the watch was ended: {bytes(event.object)[:200]!r}")
        pod = msgspec.json.decode(event.object, type=SeenPod)
        self._version = pod.metadata.resource_version
        if event.type == "BOOKMARK":
            return
        self._take(pod)
        if event.type == "DELETED":
            self._gone(pod.metadata.name)

    def _take(self, pod: SeenPod) -> None:
        now_ns = time.time_ns()
        steps = self._pods.setdefault(pod.metadata.name, Steps(now_ns))
        for step in steps.take(pod, now_ns):
            self._fire("POD", f"{self._load(pod.metadata.name)}: {step.name}", step.took_ms)
            self._tell()

    def _gone(self, name: str) -> None:
        step = self._pods.pop(name).gone(time.time_ns())
        self._fire("POD", f"{self._load(name)}: {step.name}", step.took_ms)
        self._tell()

    def _load(self, pod: str) -> str:
        return load_of(pod, self._loads) or "unknown"

    def _tell(self) -> None:
        """Wake all waiting users."""
        changed, self._changed = self._changed, Event()
        changed.set()

    def _fire(self, kind: str, name: str, took_ms: float, error: BaseException | None = None) -> None:
        self._environment.events.request.fire(
            request_type=kind, name=name, response_time=took_ms, response_length=0, exception=error, context={}
        )

    def _get(self, **query: str) -> "_Answer":
        return _Answer(self._access, f"{self._path}?{urlencode(query)}")


class _Answer:
    """An open answer of the API server, read line by line."""

    def __init__(self, access: Access, path: str) -> None:
        parts = urlsplit(access.server)
        where, timeout_s = (parts.hostname or "", parts.port), CONNECTION_S + 10.0
        self._connection = (
            HTTPSConnection(*where, timeout=timeout_s, context=access.tls)
            if parts.scheme == "https"
            else HTTPConnection(*where, timeout=timeout_s)
        )
        self._connection.request("GET", path, headers={"Accept": "application/json"} | access.headers())
        self._response = self._connection.getresponse()

    def __enter__(self) -> HTTPResponse:
        if self._response.status == 200:
            return self._response
        text = self._response.read(200)
        self._connection.close()
        raise _Failed(f"the API server answered {self._response.status}: {text!r}")

    def __exit__(self, *_: object) -> None:
        self._connection.close()
