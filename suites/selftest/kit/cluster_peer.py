"""An HTTP server that answers what `crashloop observe` asks, from data: version, access reviews, nodes, pods, changes."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from suites.selftest.kit.kube_peer import Json, answering, status

Refusal = Callable[[str], Json | None]


def node(name: str, *, version: str = "v1.37.1", boot_id: str = "boot-1") -> Json:
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T10:00:00Z"}
    info = {"kubeletVersion": version, "bootID": boot_id}
    return {"metadata": {"name": name}, "spec": {}, "status": {"conditions": [ready], "nodeInfo": info}}


def _stamp(at_s: float) -> str:
    return datetime.fromtimestamp(int(at_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(
    name: str, restart: int, exited_s: float, wait_s: int, *, on: str = "worker", probe: Json | None = None
) -> Json:
    """A pod whose container has restarted `wait_s` after it had exited at `exited_s`."""
    last = {"terminated": {"startedAt": _stamp(exited_s - 1), "finishedAt": _stamp(exited_s), "exitCode": 1}}
    running = {"running": {"startedAt": _stamp(exited_s + wait_s)}}
    container: Json = {"name": "app"} | ({"livenessProbe": probe} if probe else {})
    return {
        "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}", "resourceVersion": "0"},
        "spec": {"nodeName": on, "containers": [container]},
        "status": {
            "containerStatuses": [{"name": "app", "restartCount": restart, "state": running, "lastState": last}]
        },
    }


def waiting(name: str, reason: str, message: str = "", *, image: str = "nowhere/none:1") -> Json:
    """A pod whose container `app` waits, and has never run."""
    state = {"waiting": {"reason": reason, "message": message}}
    found = pod(name, 0, 0, 0)
    return found | {
        "status": {"containerStatuses": [{"name": "app", "image": image, "restartCount": 0, "state": state}]}
    }


def looping(peer: "ClusterPeer", *waits_s: int, name: str = "cart", on: str = "worker") -> None:
    """A crash loop whose waits all lie ahead of now, so that they count as seen from their beginning."""
    exited_s = time.time() + 1000
    for restart, wait_s in enumerate(waits_s, start=12):
        peer.append(pod(name, restart, exited_s, wait_s, on=on))
        exited_s += wait_s + 1


class ClusterPeer:
    """`nodes` are answered list by list, the last one again; `append` adds a change that every watch delivers.

    A watch ends with the changes that it has delivered: the next one shows that they were taken.
    """

    def __init__(self, nodes: list[list[Json]], pods: list[Json], *, forbidden: frozenset[str] = frozenset()) -> None:
        self._nodes = nodes
        self._pods = pods
        self._forbidden = forbidden
        self._changes: list[bytes] = []
        self._more = threading.Condition()
        self._closed = False
        self._taken = -1
        """The version that the newest watch began at."""
        self.refusal: Refusal = lambda _: None
        """The Status to answer a request with, which is written as in `requests`; None to answer it. Another one ends watches."""
        self.requests: list[str] = []
        """Method and path of each request."""

    def append(self, pod: Json) -> None:
        """A pod has changed."""
        with self._more:
            pod["metadata"]["resourceVersion"] = str(len(self._changes) + 1)
            self._changes.append(json.dumps({"type": "MODIFIED", "object": pod}).encode() + b"\n")
            self._more.notify_all()

    def close(self) -> None:
        with self._more:
            self._closed = True
            self._more.notify_all()

    def answer(self, path: str, query: dict[str, list[str]]) -> Json:
        if path == "/version":
            return {"gitVersion": "v1.37.1"}
        if path == "/api/v1/nodes":
            return {
                "metadata": {"resourceVersion": "0"},
                "items": self._nodes.pop(0) if len(self._nodes) > 1 else self._nodes[0],
            }
        folder, _, name = path.rpartition("/")
        if folder.endswith("/nodes"):
            return next(each for each in self._nodes[0] if each["metadata"]["name"] == name)
        if name in ("log", "events"):
            return {"items": []}
        if folder.endswith("/pods"):
            return self._pod(name)
        pods = list(self._present().values())
        begin, limit = int(query.get("continue", ["0"])[0] or 0), int(query.get("limit", ["500"])[0])
        rest = str(begin + limit) if begin + limit < len(pods) else ""
        return {"metadata": {"resourceVersion": "0", "continue": rest}, "items": pods[begin : begin + limit]}

    def _pod(self, name: str) -> Json:
        return self._present().get(name) or status(404, "NotFound")

    def _present(self) -> dict[str, Json]:
        """Each pod by its name, as it was changed last."""
        changed = [json.loads(line)["object"] for line in self._changes]
        return {pod["metadata"]["name"]: pod for pod in (*self._pods, *changed)}

    def review(self, body: Json) -> Json:
        asked = body["spec"]["resourceAttributes"]
        return {"status": {"allowed": f"{asked['verb']} {asked['resource']}" not in self._forbidden}}

    def changes_since(self, version: int) -> list[bytes]:
        """Changes after that version, waiting for one a little while; nothing once all is over."""
        with self._more:
            self._more.wait_for(lambda: self._closed or len(self._changes) > version, timeout=0.5)
            return self._changes[version:]

    def watched_from(self, version: int) -> None:
        """A watch begins: its client has taken all changes up to there."""
        self._taken = version

    @property
    def is_followed(self) -> bool:
        """Whether a client has taken all changes."""
        return self._taken == len(self._changes)

    @property
    def is_closed(self) -> bool:
        return self._closed


def _handler(peer: ClusterPeer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            address = urlsplit(self.path)
            query = parse_qs(address.query, keep_blank_values=True)
            request = f"GET {address.path}{' watch' if 'watch' in query else ''}"
            peer.requests.append(request)
            refusal = peer.refusal
            if (refused := refusal(request)) is not None:
                self._answer(refused, refused["code"])
            elif "watch" in query:
                self._stream(refusal, int(query["resourceVersion"][0]), float(query["timeoutSeconds"][0]))
            else:
                found = peer.answer(address.path, query)
                self._answer(found, found.get("code", 200))

        def do_POST(self) -> None:
            peer.requests.append(f"POST {urlsplit(self.path).path}")
            self._answer(peer.review(json.loads(self.rfile.read(int(self.headers["Content-Length"])))))

        def _answer(self, body: Json, code: int = 200) -> None:
            raw = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def _stream(self, refusal: Refusal, version: int, at_most_s: float) -> None:
            ends_s = time.monotonic() + at_most_s
            peer.watched_from(version)
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.flush()
            lines: list[bytes] = []
            while not (lines or peer.is_closed or peer.refusal is not refusal or time.monotonic() >= ends_s):
                lines = peer.changes_since(version)
            for line in lines:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: object) -> None:
            """Quiet."""

    return Handler


@contextmanager
def serving(peer: ClusterPeer, folder: Path) -> Iterator[str]:
    """The path of a kubeconfig for the peer, while it serves."""
    with answering(_handler(peer), folder, peer.close) as kubeconfig:
        yield kubeconfig
