"""Requests to the API server, counted by Locust under names without serial numbers."""

import time
from http.client import responses
from typing import NamedTuple, Protocol
from urllib.parse import urlencode

import msgspec
from locust.env import Environment

from crashloop.kube.answers import refusal
from crashloop.kube.credentials import Access
from crashloop.spec.pod import GRACE_PERIOD_S
from crashloop.stress.assignment import UNSERVED, Operation
from crashloop.yaml_text import Json
from load.connections import Connections
from load.manifests import Made
from load.watch_list import watch_list

ANSWER_S = 30.0

_PATHS = {
    "Pod": ("/api/v1", "pods"),
    "Service": ("/api/v1", "services"),
    "EndpointSlice": ("/apis/discovery.k8s.io/v1", "endpointslices"),
    "Job": ("/apis/batch/v1", "jobs"),
    "Deployment": ("/apis/apps/v1", "deployments"),
}

_MERGE = "application/strategic-merge-patch+json"
_METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
"""What is asked for where nobody reads the answer: the API server encodes no pod."""


_DELETE, _DELETE_POD = (
    msgspec.json.encode({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"} | more)
    for more in ({}, {"gracePeriodSeconds": GRACE_PERIOD_S})
)


class _Answer(NamedTuple):
    code: int
    """0: none came."""
    body: bytes
    error: str
    """Why the request failed, in the API server's words, or in those of the connection."""


class _Slices(msgspec.Struct):
    items: list[Json]


class OperationLog(Protocol):
    """The file of operations."""

    def __call__(self, operation: Operation) -> None: ...


class Api:
    """One worker's connections. Nothing is retried: Locust counts a failure, and the caller decides what it means."""

    def __init__(self, environment: Environment, access: Access, namespace: str, log: OperationLog) -> None:
        self._namespace = namespace
        self._log = log
        self._environment = environment
        self._connections = Connections(access)

    def create(self, made: Made, *, load: str, intended_ns: int | None = None) -> Operation:
        """Create an object, annotated with the time of the request."""
        sent_ns = time.time_ns()
        what = "create", "POST", self._path(made.kind), load, made.name, sent_ns, made.asked(sent_ns)
        return self._sent(*what, intended_ns=intended_ns)[0]

    def delete(self, kind: str, name: str, *, load: str) -> Operation:
        """Delete an object and everything it owns."""
        options = _DELETE_POD if kind == "Pod" else _DELETE
        return self._sent("delete", "DELETE", f"{self._path(kind)}/{name}", load, name, time.time_ns(), options)[0]

    def patch(self, kind: str, name: str, patch: Json, *, load: str) -> Operation:
        path = f"{self._path(kind)}/{name}"
        body = msgspec.json.encode(patch)
        return self._sent("patch", "PATCH", path, load, name, time.time_ns(), body, content_type=_MERGE)[0]

    def get_pod(self, pod: str, *, load: str, intended_ns: int, timeout_s: float) -> Operation:
        """Read one pod."""
        return self._read("get", f"{self._path('Pod')}/{pod}", load, pod, intended_ns, timeout_s)

    def list_pods(self, selector: str, *, load: str, intended_ns: int, timeout_s: float) -> Operation:
        """Read all pods of the namespace that a label selector fits."""
        path = f"{self._path('Pod')}?{urlencode({'labelSelector': selector})}"
        return self._read("list", path, load, "", intended_ns, timeout_s)

    def watch_list_pods(self, selector: str, *, load: str, intended_ns: int, timeout_s: float) -> Operation:
        """Read all pods of the namespace that a label selector fits by a streaming list."""
        sent_ns = time.time_ns()
        code, error = watch_list(self._connections, self._path("Pod"), selector, within_s=timeout_s)
        operation = Operation(
            load=load,
            what="watch-list",
            intended_ns=None if code in UNSERVED else intended_ns,
            sent_ns=sent_ns,
            took_ns=time.time_ns() - sent_ns,
            code=code,
            error=error,
        )
        self._environment.events.request.fire(
            request_type="WATCH",
            name=f"{load}: {operation.what}",
            response_time=operation.took_ns / 1e6,
            response_length=0,
            exception=OSError(error) if error else None,
            context={},
        )
        self._log(operation)
        return operation

    def log_of(self, pod: str, container: str, *, load: str) -> str | None:
        """The log of a container; None if it cannot be read."""
        path = f"{self._path('Pod')}/{pod}/log?{urlencode({'container': container})}"
        operation, answer = self._sent("log", "GET", path, load, pod, time.time_ns(), b"")
        return None if operation.error else answer.body.decode(errors="replace")

    def endpoint_slices(self, service: str, *, load: str) -> list[Json] | None:
        """The EndpointSlices of a Service; None without an answer."""
        path = f"{self._path('EndpointSlice')}?{urlencode({'labelSelector': f'kubernetes.io/service-name={service}'})}"
        operation, answer = self._sent("endpoints", "GET", path, load, service, time.time_ns(), b"")
        return None if operation.error else msgspec.json.decode(answer.body, type=_Slices).items

    def _read(self, what: str, path: str, load: str, pod: str, intended_ns: int, timeout_s: float) -> Operation:
        sent_ns = time.time_ns()
        request = what, "GET", path, load, pod, sent_ns, b""
        return self._sent(*request, intended_ns=intended_ns, timeout_s=timeout_s)[0]

    def _path(self, kind: str) -> str:
        base, plural = _PATHS[kind]
        return f"{base}/namespaces/{self._namespace}/{plural}"

    def _sent(
        self,
        what: str,
        method: str,
        path: str,
        load: str,
        name: str,
        sent_ns: int,
        body: bytes,
        *,
        intended_ns: int | None = None,
        content_type: str = "application/json",
        timeout_s: float | None = None,
    ) -> tuple[Operation, _Answer]:
        """The operation, and the answer."""
        accept = "*/*" if method == "GET" else _METADATA_ONLY
        within_s = ANSWER_S if timeout_s is None else timeout_s
        try:
            came = self._connections.ask(
                method, path, body, accept=accept, content_type=content_type, timeout_s=within_s
            )
            answer = _Answer(*came, "" if 200 <= came.code < 300 else _reason(*came))
        except OSError as error:
            answer = _Answer(0, b"", _short(str(error) or type(error).__name__))
        took_ns = time.time_ns() - sent_ns
        self._environment.events.request.fire(
            request_type=method,
            name=f"{load}: {what}",
            response_time=took_ns / 1e6,
            response_length=len(answer.body),
            exception=OSError(answer.error) if answer.error else None,
            context={},
        )
        operation = Operation(
            load=load,
            what=what,
            pod=name,
            intended_ns=intended_ns,
            sent_ns=sent_ns,
            took_ns=took_ns,
            code=answer.code,
            error=answer.error,
        )
        self._log(operation)
        return operation, answer


def _reason(code: int, body: bytes) -> str:
    refused = refusal("", code, responses.get(code), body)
    return _short(refused.message or refused.reason)


def _short(said: str) -> str:
    """The API server's words may be long."""
    return said[:300] or "without a reason"
