"""What the self-tests of binaries share: programs that answer as the real ones do, and a site with official releases."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from crashloop.cluster.binaries.components import KUBERNETES_PROGRAMS
from crashloop.settings import Settings, resolve_settings

NOWHERE = "http://127.0.0.1:1"
"""Nothing listens on port 1."""

OTHER_ANSWERS = {
    "etcd": "etcd Version: 3.7.0",
    "containerd": "containerd github.com/containerd/containerd/v2 2.3.7 abcdef",
    "ctr": "ctr github.com/containerd/containerd/v2 2.3.7",
    "containerd-shim-runc-v2": "containerd-shim-runc-v2:\n  Version:  2.3.7",
    "runc": "runc version 1.3.3\nspec: 1.2.1",
    "busybox": "BusyBox v1.35.0 (Debian) multi-call binary.",
    "ptp": "CNI ptp plugin v1.9.1",
    "loopback": "CNI loopback plugin v1.9.1",
    "host-local": "CNI host-local plugin v1.9.1",
}


def answer_of(program: str, kubernetes: str) -> str:
    """What a program prints when it is asked for its version."""
    if program == "kubeadm":
        return f"v{kubernetes}"
    if program == "kubectl":
        return f"Client Version: v{kubernetes}"
    return f"Kubernetes v{kubernetes}" if program in KUBERNETES_PROGRAMS else OTHER_ANSWERS[program]


def script(text: str) -> str:
    return f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n"


def write_program(path: Path, answer: str) -> Path:
    """An executable script that prints its answer, whatever it is asked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script(answer))
    path.chmod(0o755)
    return path


def write_programs(folder: Path, *programs: str, kubernetes: str = "1.37.1") -> Path:
    """A folder of the user's own binaries."""
    for program in programs:
        write_program(folder / program, answer_of(program, kubernetes))
    return folder


def settings_for(cache: Path, *, release_url: str = NOWHERE, github_url: str = NOWHERE) -> Settings:
    options = {"cache_dir": str(cache), "release_url": release_url, "github_url": github_url, "first_answer_s": "2"}
    return resolve_settings(options, {})


class Site:
    """Files by path, and which of them were asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.url = ""

    def publish(self, path: str, content: bytes, *, sha256: str | None = None) -> None:
        """A file with its checksum beside it; `sha256` to publish another than its own."""
        self.files[path] = content
        self.files[f"{path}.sha256"] = (sha256 or hashlib.sha256(content).hexdigest()).encode()

    def publish_kubernetes(self, version: str, *programs: str) -> None:
        for program in programs or KUBERNETES_PROGRAMS:
            content = script(answer_of(program, version)).encode()
            for arch in ("amd64", "arm64"):
                self.publish(f"release/v{version}/bin/linux/{arch}/{program}", content)


@contextmanager
def release_site() -> Iterator[Site]:
    """A release site on this host."""
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.lstrip("/")
            site.asked.append(path)
            content = site.files.get(path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *args: object) -> None:
            """Keep the output of the tests clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
