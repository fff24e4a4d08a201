"""An HTTP server that keeps objects under their paths as the API server does, and answers what a script says instead."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from suites.selftest.kit.kube_peer import Json, answering, status


class ObjectPeer:
    """`refusals` are Status objects by a method and the end of a path (`POST pods/x`); `warnings` are headers of every answer.

    A request of that form in `resets` is not answered: its connection is closed.
    """

    def __init__(
        self,
        *objects: tuple[str, Json],
        refusals: dict[str, Json] | None = None,
        warnings: tuple[str, ...] = (),
        resets: tuple[str, ...] = (),
    ) -> None:
        self.objects = dict(objects)
        self.refusals = refusals or {}
        self.warnings = warnings
        self.resets = resets
        self.requests: list[str] = []
        """Method, path and dryRun of each request."""
        self.users: list[str | None] = []
        """Whom each request was sent for, if for somebody else."""

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Json | None) -> tuple[int, Json]:
        name = body["metadata"]["name"] if method == "POST" and body is not None else None
        path = path if name is None else f"{path}/{name}"
        dry_run = "dryRun" in query
        self.requests.append(f"{method} {path}{' dry' if dry_run else ''}")
        for refused, refusal in self.refusals.items():
            of_method, end = refused.split()
            if method == of_method and path.endswith(end):
                return refusal["code"], refusal
        if method == "POST" and body is not None:
            if path in self.objects:
                return 409, status(409, "AlreadyExists", f"{name} already exists")
            if not dry_run:
                self.objects[path] = body
            return 201, body
        if method == "PATCH" and body is not None and path.removesuffix("/ephemeralcontainers") in self.objects:
            return 200, body
        if path not in self.objects:
            return 404, status(404, "NotFound", f"{path} not found")
        return 200, self.objects.pop(path) if method == "DELETE" and not dry_run else self.objects[path]


def _handler(peer: ObjectPeer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def do_PATCH(self) -> None:
            self._answer()

        def do_DELETE(self) -> None:
            self._answer()

        def _answer(self) -> None:
            address = urlsplit(self.path)
            sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = json.loads(sent) if sent else None
            name = body["metadata"]["name"] if self.command == "POST" and body is not None else ""
            if f"{self.command} {name}" in peer.resets:
                self.close_connection = True
                return
            peer.users.append(self.headers.get("Impersonate-User"))
            code, answer = peer.answer(self.command, address.path, parse_qs(address.query), body)
            raw = json.dumps(answer, separators=(",", ":")).encode() + b"\n"
            self.send_response(code)
            self.send_header("Content-Length", str(len(raw)))
            for warning in peer.warnings:
                self.send_header("Warning", warning)
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    return Handler


@contextmanager
def serving(peer: ObjectPeer, folder: Path) -> Iterator[str]:
    """The path of a kubeconfig for the peer, while it serves."""
    with answering(_handler(peer), folder, lambda: None) as kubeconfig:
        yield kubeconfig
