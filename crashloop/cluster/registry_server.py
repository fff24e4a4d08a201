"""A read-only image registry over plain HTTP: `python registry_server.py FOLDER HOST PORT`. The standard library is enough.

FOLDER/blobs/<sha256> is the content; FOLDER/repositories/<name>/ has a file for each image version of its own: `offer.json`,
what is answered about it, and after how long ({"manifest": sha256 or null, "password": text or null, "answers_after_s": number},
read anew at each request), and `requests.jsonl`, a line for each request, written before it is answered.
The protocol is https://github.com/opencontainers/distribution-spec (v1.1), "Pulling manifests", "Pulling blobs".
"""

import base64
import json
import re
import sys
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONTENT = re.compile(r"/v2/(?P<name>[a-z0-9][a-z0-9/._-]*)/(?P<what>manifests|blobs)/(?P<reference>[A-Za-z0-9:._-]+)")
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
TAG = "current"
"""The only tag of every repository."""
_NEVER = threading.Event()
"""What a slow answer waits for in vain: this program has nothing of crashloop.waiting."""


class Answer(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    root: Path

    def do_GET(self) -> None:
        came_ns = time.time_ns()
        path = self.path.partition("?")[0]
        found = _CONTENT.fullmatch(path)
        folder = self.root / "repositories" / found["name"] if found and ".." not in path else None
        if path == "/v2/":
            self._answer(HTTPStatus.OK, b"{}", "application/json")
        elif found is None or folder is None or not folder.is_dir():
            self._answer(HTTPStatus.NOT_FOUND)
        else:
            self._from(folder, found["what"], found["reference"], came_ns)

    do_HEAD = do_GET  # noqa: N815 (named by http.server)

    def _from(self, folder: Path, what: str, reference: str, came_ns: int) -> None:
        offer = json.loads((folder / "offer.json").read_bytes())
        password, content = self._password(), b""
        digest = f"sha256:{offer['manifest']}" if (what, reference) == ("manifests", TAG) else reference
        if offer["manifest"] is None:
            status = HTTPStatus.SERVICE_UNAVAILABLE
        elif offer["password"] not in (None, password):
            status = HTTPStatus.UNAUTHORIZED
        else:
            named = _DIGEST.fullmatch(digest)
            blob = self.root / "blobs" / named[1] if named else None
            status = HTTPStatus.OK if blob is not None and blob.exists() else HTTPStatus.NOT_FOUND
            content = blob.read_bytes() if blob is not None and status is HTTPStatus.OK else b""
        _NEVER.wait(offer["answers_after_s"])
        line = {
            "t_ns": came_ns,
            "method": self.command,
            "what": what,
            "reference": reference,
            "status": status.value,
            "password": password,
            "answered_ns": time.time_ns(),
        }
        with (folder / "requests.jsonl").open("ab") as log:
            log.write(json.dumps(line).encode() + b"\n")
        if status is HTTPStatus.OK:
            media = MANIFEST if what == "manifests" else "application/octet-stream"
            self._answer(status, content, media, {"Docker-Content-Digest": digest})
        else:
            self._answer(status)

    def _password(self) -> str | None:
        """What the client names itself with (Basic)."""
        scheme, _, word = self.headers.get("Authorization", "").partition(" ")
        if scheme != "Basic":
            return None
        return base64.b64decode(word).decode(errors="replace").partition(":")[2]

    def _answer(
        self, status: HTTPStatus, content: bytes = b"", media: str = "text/plain", more: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        if status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", 'Basic realm="crashloop"')
        for name, value in {"Content-Type": media, "Content-Length": str(len(content)), **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Requests are in files of their own."""


def server(root: Path, host: str, port: int) -> ThreadingHTTPServer:
    """A server of that folder; port 0: any."""
    return ThreadingHTTPServer((host, port), type("Handler", (Answer,), {"root": root}))


if __name__ == "__main__":
    server(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])).serve_forever()
