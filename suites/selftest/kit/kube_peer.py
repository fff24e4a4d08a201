"""An HTTP server that speaks list and watch as the API server does, from a script. It knows nothing of Kubernetes."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

Json = dict[str, Any]

HANG = object()
"""In the script of a watch: keep the connection open, without a word, until the peer stops."""
TEAR = object()
"""In the script of a watch: break the connection in the middle of a line."""


def pod(name: str, version: int, **status: Any) -> Json:
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"kind": "Pod", "metadata": metadata, "status": status}


def pod_list(version: int, *pods: Json) -> Json:
    return {"kind": "PodList", "metadata": {"resourceVersion": str(version)}, "items": list(pods)}


def change(kind: str, of: Json) -> Json:
    return {"type": kind, "object": of}


def bookmark(version: int) -> Json:
    return change("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": str(version)}})


def status(code: int, reason: str, message: str = "", **details: Any) -> Json:
    return {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}


class Peer:
    """Answers each list with the next of `lists` and each watch with the next of `watches`; the last one stays."""

    def __init__(self, lists: list[Json], watches: list[list[Any] | Json]) -> None:
        self._lists = lists
        self._watches = watches
        self._lock = threading.Lock()
        self.stopped = threading.Event()
        self.watched_from: list[str] = []
        """The resourceVersion of each watch that was asked for."""
        self.paths: list[str] = []
        """Of every request, in their order."""

    def next_list(self) -> Json:
        with self._lock:
            return self._lists.pop(0) if len(self._lists) > 1 else self._lists[0]

    def next_watch(self, version: str) -> list[Any] | Json:
        with self._lock:
            self.watched_from.append(version)
            return self._watches.pop(0) if len(self._watches) > 1 else self._watches[0]


def _handler(peer: Peer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            peer.paths.append(asked.path)
            query = parse_qs(asked.query)
            if "watch" not in query:
                self._answer(peer.next_list())
                return
            script = peer.next_watch(query["resourceVersion"][0])
            if isinstance(script, dict):
                self._answer(script)
            else:
                self._stream(script)

        def _answer(self, body: Json) -> None:
            raw = json.dumps(body).encode()
            self.send_response(body.get("code", 200))
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def _stream(self, script: list[Any]) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for step in script:
                if step is HANG:
                    peer.stopped.wait()
                elif step is TEAR:
                    self._chunk(b'{"type": "MODI')
                    self.close_connection = True
                    return
                else:
                    self._chunk(json.dumps(step).encode() + b"\n")
            self._chunk(b"")

        def _chunk(self, raw: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
            self.wfile.flush()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Clients that go away are part of the script."""


def write_kubeconfig(folder: Path, port: int, user: Json | None = None) -> Path:
    """A kubeconfig for a server on this host."""
    scheme = "https" if "exec" in (user or {}) else "http"  # no plug-in is asked without TLS
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": {"server": f"{scheme}://127.0.0.1:{port}"}}],
                "users": [{"name": "u", "user": user or {"token": "secret"}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )
    return kubeconfig


@contextmanager
def answering(
    handler: type[BaseHTTPRequestHandler], folder: Path, stop: Callable[[], None], user: Json | None = None
) -> Iterator[str]:
    """The path of a kubeconfig for a server with that handler, while it serves; `stop` lets its open answers end."""
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield str(write_kubeconfig(folder, server.server_port, user))
    finally:
        stop()
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def serving(peer: Peer, tmp_path: Path) -> Iterator[str]:
    """The path of a kubeconfig for the peer, while it serves."""
    with answering(_handler(peer), tmp_path, peer.stopped.set) as kubeconfig:
        yield kubeconfig
