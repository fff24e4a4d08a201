"""An API server for the load generator that is none: it takes objects, lists none, and removes what is deleted."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import urlsplit

import msgspec

from crashloop.stress.assignment import Operation, Order
from crashloop.stress.loads import AnyLoad, Crash
from crashloop.stress.profile import Count, Stage
from suites.selftest.kit.kube_peer import status, write_kubeconfig

STORM = {"crashers": Crash(node="storm")}
RUNNING = {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}
PODS = ["crashers-0-0", "crashers-0-1", "crashers-0-2"]
EXCEEDED = "pods are forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1"
BOOKMARK = {"type": "BOOKMARK", "object": {"metadata": {"annotations": {"k8s.io/initial-events-end": "true"}}}}
"""All that a streaming list delivers."""


class Accepting:
    """Takes every object, lists none, and forgets what is deleted: a delete is answered as of something unknown."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        """Method and path without the query, in order."""
        self.created: list[Any] = []
        """Objects whose creation was requested, in order."""
        self.queries: list[str] = []
        """The queries of reads, in order."""
        self.holds: str | None = None
        """Reads of this path are never answered."""
        self.create_code = 201
        """What a create is answered with."""
        self.quota: int | None = None
        """The most objects that it takes; further creates are refused as by a ResourceQuota."""
        self.expired = False
        """Whether it knows nobody any more; what is open stays open."""
        self.watch_list_code = 200
        """What a streaming list is answered with."""
        self.bookmarks = True
        """Whether the end of its initial events is told."""
        self.list_code = 200
        """What a list is answered with."""
        self.delete_code = 404
        """What a delete is answered with; after 200 nobody hears of the object's end."""
        self.left: dict[str, int] = {}
        """Objects that are in lists, by the last word of a collection's path."""
        self.removals = 1
        """How often the removal of a collection has to be asked for until its objects are gone."""
        self.changes: SimpleQueue[dict[str, Any]] | None = None
        """What the watch of pods is told, if it is told anything: those created run, those deleted are gone."""
        self.stopped = threading.Event()
        self._lock = threading.Lock()
        self._taken = 0

    def takes_another(self) -> bool:
        """Whether its quota admits one more object, which then counts."""
        with self._lock:
            takes = self.quota is None or self._taken < self.quota
            self._taken += takes
            return takes

    def paths(self, method: str) -> list[str]:
        """The last words of the paths that were asked for with a method."""
        return [path.rpartition("/")[2] for seen, path in list(self.requests) if seen == method]


def _handler(peer: Accepting) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if "sendInitialEvents=true" in self.path:
                self._stream()
                return
            if "watch=true" in self.path:
                self._tell()
                peer.stopped.wait()
            peer.queries.append(urlsplit(self.path).query)
            if peer.holds is not None and urlsplit(self.path).path.endswith(peer.holds):
                peer.stopped.wait()
            name = urlsplit(self.path).path.rpartition("/")[2]
            left = [{"metadata": {"name": f"{name}-{number}"}} for number in range(peer.left.get(name, 0))]
            self._answer(peer.list_code, {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": left})

        def _stream(self) -> None:
            """A streaming list without objects, which the client has to end."""
            peer.queries.append(urlsplit(self.path).query)
            if peer.watch_list_code != 200:
                self._answer(peer.watch_list_code, {"kind": "Status"})
                return
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            if peer.bookmarks:
                self.wfile.write(json.dumps(BOOKMARK).encode() + b"\n")
            self.rfile.read(1)

        def do_POST(self) -> None:
            if not peer.takes_another():
                self._answer(403, status(403, "Forbidden", EXCEEDED))
                return
            created = self._answer(peer.create_code, {})
            self._change("ADDED", created | {"status": RUNNING})

        def do_DELETE(self) -> None:
            name = urlsplit(self.path).path.rpartition("/")[2]
            if peer.paths("DELETE").count(name) + 1 >= peer.removals:
                peer.left.pop(name, None)
            collection = name in ("pods", "jobs", "deployments")
            self._answer(200 if collection else peer.delete_code, {})
            self._change("DELETED", {"metadata": {"name": name}})

        def _change(self, kind: str, pod: dict[str, Any]) -> None:
            if peer.changes is not None:
                metadata = pod["metadata"] | {"resourceVersion": "2"}
                peer.changes.put({"type": kind, "object": pod | {"metadata": metadata}})

        def _tell(self) -> None:
            if peer.changes is None:
                return
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            while not peer.stopped.is_set():
                with suppress(Empty):
                    self.wfile.write(json.dumps(peer.changes.get(timeout=0.1)).encode() + b"\n")

        def _answer(self, code: int, body: dict[str, Any]) -> dict[str, Any]:
            """Returns what was sent with the request."""
            sent: dict[str, Any] = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            if peer.expired:
                code, body = 401, status(401, "Unauthorized", "Unauthorized")
            if self.command == "POST":
                peer.created.append(sent)
            peer.requests.append((self.command, urlsplit(self.path).path))
            raw = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
            return sent

        def log_message(self, *_: object) -> None:
            """Quiet."""

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Clients that go away are expected."""


@contextmanager
def accepting(folder: Path) -> Iterator[Accepting]:
    """A peer that serves; its kubeconfig is in the folder."""
    peer = Accepting()
    server = _Server(("127.0.0.1", 0), _handler(peer))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    write_kubeconfig(folder, server.server_port)
    try:
        yield peer
    finally:
        peer.stopped.set()
        server.shutdown()
        thread.join()
        server.server_close()


def write_order(folder: Path, *, duration_s: float = 1.0, loads: dict[str, AnyLoad] | None = None, **more: Any) -> Path:
    """The order of a stage with three users of each load, as load.json beside which the load writes."""
    load, loads = folder / "load", loads or dict(STORM)
    load.mkdir()
    users: dict[str, Count] = dict.fromkeys(loads, 3)
    settings: dict[str, Any] = {
        "kubeconfig": str(folder / "kubeconfig"),
        "namespace": "ns",
        "run": "r",
        "image": "image",
        "hosts": {"storm": "storm"},
        "loads": loads,
        "stages": (Stage(name="storm", duration_s=duration_s, users=users, spawn_per_s=10, settle_s=0),),
        "folder": str(load),
        "ends_after_s": 60,
        "drain_within_s": 20,
    }
    path = load / "load.json"
    path.write_bytes(msgspec.json.encode(Order(**(settings | more))))
    return path


def missed(operations: list[Operation], what: str) -> list[tuple[str, str]]:
    """Name and sentence of the objects of which a step did not come in time."""
    return sorted((each.pod, each.error) for each in operations if each.what == what)
