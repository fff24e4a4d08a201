"""An HTTP server on which `crashloop run --provider existing` can begin: objects are kept as they are sent, pods do nothing.

It keeps what an API server promises to whoever asks: names are unique, preconditions hold, selectors select.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from crashloop.pods.manifest import HOSTNAME_LABEL
from suites.selftest.kit.kube_peer import Json, answering, status

NAMESPACE = "crashloop"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"

_COLLECTION = re.compile(r".*/(namespaces|pods|jobs|leases|events|resourcequotas|nodes)")
_INFO = ("machineID", "containerRuntimeVersion", "kernelVersion", "osImage", "architecture", "operatingSystem")


def node(name: str, *, ready: bool = True, port: int | None = None) -> Json:
    """A Node object with the label of its name; `port` is its kubelet's, on this host."""
    condition = {
        "type": "Ready",
        "status": str(ready),
        "reason": "KubeletReady" if ready else "KubeletNotReady",
        "lastTransitionTime": "2026-11-21T10:00:00Z",
    }
    info = dict.fromkeys(_INFO, "none") | {"kubeletVersion": "v1.37.1", "bootID": "boot-1"}
    found: Json = {"conditions": [condition], "nodeInfo": info}
    if port is not None:
        found["addresses"] = [{"type": "InternalIP", "address": "127.0.0.1"}]
        found["daemonEndpoints"] = {"kubeletEndpoint": {"Port": port}}
    return {"metadata": {"name": name, "labels": {HOSTNAME_LABEL: name}}, "spec": {}, "status": found}


class ExistingPeer:
    """A cluster with a namespace and some nodes. `before` may answer a request with a Status in its place, or hold it up."""

    def __init__(self, *nodes: Json) -> None:
        self.objects: dict[str, Json] = {f"/api/v1/nodes/{each['metadata']['name']}": each for each in nodes}
        """By path."""
        self.objects[f"/api/v1/namespaces/{NAMESPACE}"] = {"metadata": {"name": NAMESPACE}}
        self.configz: dict[str, Json] = {}
        """The configuration that a kubelet shows through the API server, by node; others do not answer."""
        self.container: Json = {"running": {}}
        """The state of every container."""
        self.before: Callable[[str], Json | None] = lambda _: None
        """Called with method and path of every request."""
        self.forbidden: frozenset[str] = frozenset()
        """Verbs with resources that nobody may."""
        self.ahead_s = 0.0
        """By how much the server's clock is ahead of ours."""
        self.ended = threading.Event()
        """Ends all that is open."""
        self._lock = threading.Lock()
        self._version = 0

    def names(self, collection: str) -> list[str]:
        """Names of the objects there are."""
        return [path.rpartition("/")[2] for path in list(self.objects) if path.rpartition("/")[0] == collection]

    def answer(self, method: str, path: str, query: dict[str, str], body: Json) -> Json:
        refused = self.before(f"{method} {path}")
        if refused is not None:
            return refused
        with self._lock:
            match method:
                case "POST":
                    return self._create(path, body)
                case "PATCH":
                    return self._patch(path, body)
                case "DELETE":
                    return self._delete(path, body)
                case _:
                    return self._read(path, query)

    def _create(self, path: str, body: Json) -> Json:
        if path.endswith("/selfsubjectaccessreviews"):
            asked = body["spec"]["resourceAttributes"]
            return {"status": {"allowed": f"{asked['verb']} {asked['resource']}" not in self.forbidden}}
        if f"/namespaces/{NAMESPACE}/" in path and f"/api/v1/namespaces/{NAMESPACE}" not in self.objects:
            return status(404, "NotFound")
        name = body["metadata"].get("name") or f"{body['metadata']['generateName']}{len(self.objects)}"
        if f"{path}/{name}" in self.objects:
            return status(409, "AlreadyExists")
        self._version += 1
        now = datetime.fromtimestamp(time.time() + self.ahead_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        about = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{self._version}", "creationTimestamp": now}
        made = body | {"metadata": body["metadata"] | about | {"resourceVersion": str(self._version)}}
        if path.endswith("/pods"):
            states = [{"name": each["name"], "state": self.container} for each in body["spec"]["containers"]]
            made["status"] = {"phase": "Pending", "containerStatuses": states}
        self.objects[f"{path}/{name}"] = made
        return made

    def _patch(self, path: str, body: Json) -> Json:
        found = self.objects.get(path)
        if (refused := _refused(found, body["metadata"])) is not None:
            return refused
        assert found is not None
        self._version += 1
        found["spec"] |= body["spec"]
        found["metadata"]["resourceVersion"] = str(self._version)
        return found

    def _delete(self, path: str, body: Json) -> Json:
        return _refused(self.objects.get(path), body.get("preconditions", {})) or self.objects.pop(path)

    def _read(self, path: str, query: dict[str, str]) -> Json:
        if path == "/version":
            return {"gitVersion": "v1.37.1"}
        if path.endswith("/proxy/configz"):
            told = self.configz.get(path.split("/")[4])
            return status(503, "ServiceUnavailable") if told is None else {"kubeletconfig": told}
        if path.endswith("/serviceaccounts/default"):
            return {"metadata": {"name": "default"}}
        if _COLLECTION.fullmatch(path):
            listed = [self.objects[f"{path}/{name}"] for name in self.names(path)]
            return {
                "metadata": {"resourceVersion": str(self._version)},
                "items": [each for each in listed if _is_selected(each, query.get("labelSelector", ""))],
            }
        return self.objects.get(path) or status(404, "NotFound")


def _refused(found: Json | None, preconditions: Json) -> Json | None:
    """Why an object is not changed; None if it is."""
    if found is None:
        return status(404, "NotFound")
    holds = all(found["metadata"][key] == value for key, value in preconditions.items())
    return None if holds else status(409, "Conflict")


def _is_selected(found: Json, selector: str) -> bool:
    labels = found["metadata"].get("labels", {})
    wanted = [each.partition("=") for each in selector.split(",") if each]
    return all(name in labels and value in ("", labels[name]) for name, _, value in wanted)


def _handler(peer: ExistingPeer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _do(self) -> None:
            address = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(address.query).items()}
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length)) if length else {}
            is_open = "watch" in query or "follow" in query
            found = peer.answer(self.command, address.path, query, body) if not is_open else peer.before("GET open")
            if found is None:
                self._stream([_beat(number) for number in range(20)] if "follow" in query else [])
                return
            raw = json.dumps(found).encode()
            self.send_response(found.get("code", 200))
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST = do_PATCH = do_DELETE = _do  # noqa: N815 - as http.server names them

        def _stream(self, lines: list[bytes]) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for line in lines:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()
            peer.ended.wait()
            self.wfile.write(b"0\r\n\r\n")

        def date_time_string(self, timestamp: float | None = None) -> str:
            return super().date_time_string((time.time() if timestamp is None else timestamp) + peer.ahead_s)

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    return Handler


def _beat(number: int) -> bytes:
    return b"crashloop/1 beat %d.00 0 -\n" % (100 + number)


@contextmanager
def serving(peer: ExistingPeer, folder: Path, user: Json | None = None) -> Iterator[str]:
    """The path of a kubeconfig for the peer, while it serves."""
    with answering(_handler(peer), folder, peer.ended.set, user) as kubeconfig:
        yield kubeconfig
