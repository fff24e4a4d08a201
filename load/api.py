"""Requests to the API server, counted by Locust under names without serial numbers."""

import time
from http.client import responses
from typing import Protocol
from urllib.parse import urlencode

import msgspec
from geventhttpclient.client import HTTPClientPool
from locust.contrib.fasthttp import FastHttpSession, FastResponse
from locust.env import Environment

from crashloop.kube.answers import refusal
from crashloop.kube.credentials import Access
from crashloop.spec.pod import GRACE_PERIOD_S
from crashloop.stress.assignment import UNSERVED, Operation
from load.manifests import Json, asked
from load.watch_list import watch_list

CONNECTIONS = 64
ANSWER_S = 30.0

_PATHS = {
    "Pod": ("/api/v1", "pods"),
    "Service": ("/api/v1", "services"),
    "EndpointSlice": ("/apis/discovery.k8s.io/v1", "endpointslices"),
    "Job": ("/apis/batch/v1", "jobs"),
    "Deployment": ("/apis/apps/v1", "deployments"),
}

_MERGE = "application/strategic-merge-patch+json"


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
        self._access = access
        self._sessions: dict[float, FastHttpSession] = {}
        """By timeout: Locust makes a request's own timeout a parameter of its address."""

    def create(self, manifest: Json, *, load: str, intended_ns: int | None = None) -> Operation:
        """Create an object, annotated with the time of the request."""
        sent_ns = time.time_ns()
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        body = asked(manifest, sent_ns)
        return self._sent("create", "POST", self._path(kind), load, name, sent_ns, body, intended_ns=intended_ns)[0]

    def delete(self, kind: str, name: str, *, load: str) -> Operation:
        """Delete an object and everything it owns."""
        options: Json = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        if kind == "Pod":
            options["gracePeriodSeconds"] = GRACE_PERIOD_S
        return self._sent("delete", "DELETE", f"{self._path(kind)}/{name}", load, name, time.time_ns(), options)[0]

    def patch(self, kind: str, name: str, patch: Json, *, load: str) -> Operation:
        path = f"{self._path(kind)}/{name}"
        return self._sent("patch", "PATCH", path, load, name, time.time_ns(), patch, content_type=_MERGE)[0]

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
        code, error = watch_list(self._access, self._path("Pod"), selector, within_s=timeout_s)
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
        operation, answer = self._sent("log", "GET", path, load, pod, time.time_ns(), None)
        return None if operation.error else answer.text or ""

    def endpoint_slices(self, service: str, *, load: str) -> list[Json] | None:
        """The EndpointSlices of a Service; None without an answer."""
        path = f"{self._path('EndpointSlice')}?{urlencode({'labelSelector': f'kubernetes.io/service-name={service}'})}"
        operation, answer = self._sent("endpoints", "GET", path, load, service, time.time_ns(), None)
        return None if operation.error else msgspec.json.decode(answer.text or "", type=_Slices).items

    def _read(self, what: str, path: str, load: str, pod: str, intended_ns: int, timeout_s: float) -> Operation:
        sent_ns = time.time_ns()
        request = what, "GET", path, load, pod, sent_ns, None
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
        body: Json | None,
        *,
        intended_ns: int | None = None,
        content_type: str = "application/json",
        timeout_s: float | None = None,
    ) -> tuple[Operation, FastResponse]:
        """The operation, and the answer, whose text costs time to decode."""
        headers = {"Accept": "*/*", "Content-Type": content_type} | self._access.headers()
        data = None if body is None else msgspec.json.encode(body).decode()
        session = self._session(ANSWER_S if timeout_s is None else timeout_s)
        answer = session.request(method, path, name=f"{load}: {what}", data=data, headers=headers)
        code = answer.status_code or 0
        operation = Operation(
            load=load,
            what=what,
            pod=name,
            intended_ns=intended_ns,
            sent_ns=sent_ns,
            took_ns=time.time_ns() - sent_ns,
            code=code,
            error="" if 200 <= code < 300 else _reason(answer, code),
        )
        self._log(operation)
        return operation, answer

    def _session(self, timeout_s: float) -> FastHttpSession:
        if timeout_s not in self._sessions:
            pool = HTTPClientPool(
                concurrency=CONNECTIONS,
                ssl_context_factory=lambda: self._access.tls,
                insecure=False,
                network_timeout=timeout_s,
                connection_timeout=timeout_s,
            )
            self._sessions[timeout_s] = FastHttpSession(
                self._access.server, self._environment.events.request, user=None, insecure=False, client_pool=pool
            )
        return self._sessions[timeout_s]


def _reason(answer: FastResponse, code: int) -> str:
    """Why a request failed, in the API server's words, which may be long."""
    if code == 0:
        # Locust notes an error on what stands for an answer that never came; its types do not have it.
        said = str(getattr(answer, "error", ""))
    else:
        refused = refusal("", code, responses.get(code), (answer.text or "").encode())
        said = refused.message or refused.reason
    return said[:300] or "without a reason"
