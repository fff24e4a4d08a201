"""An HTTPS server on loopback that says what it was shown, and proxies that lead every connection to it."""

import json
import shutil
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from crashloop.cluster.local.credentials import Authority, CertificatePlan

NAME = "kube.example.internal"
"""The server's name in its certificate, beside its address."""


class TlsPeer:
    """`ca.crt` and a client's `client.crt` and `client.key` are in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        authority = Authority.create(folder / "ca.crt", folder / "ca.key")
        for name, common in (("server", "kube"), ("client", "admin")):
            authority.issue(
                CertificatePlan(
                    certificate=str(folder / f"{name}.crt"),
                    key=str(folder / f"{name}.key"),
                    common_name=common,
                    addresses=("127.0.0.1",),
                    names=(NAME,),
                )
            )
        self._stopped: list[Any] = []
        self.proxied: list[str] = []
        """What each connection through a proxy asked for."""
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(folder / "server.crt", folder / "server.key")
        self.tls.load_verify_locations(folder / "ca.crt")
        self.tls.verify_mode = ssl.CERT_OPTIONAL
        self.port = self._serve(self.tls)

    def plain(self) -> int:
        """The port of the same server without TLS."""
        return self._serve(None)

    def _serve(self, tls: ssl.SSLContext | None) -> int:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        server.daemon_threads = True
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self._stopped += [server.shutdown, server.server_close]
        return int(server.server_address[1])

    def proxy(self, scheme: str) -> str:
        """The address of a proxy: http, https or socks5."""
        listening = socket.create_server(("127.0.0.1", 0))
        self._stopped.append(listening.close)
        threading.Thread(target=self._lead, args=(listening, scheme), daemon=True).start()
        return f"{scheme}://127.0.0.1:{listening.getsockname()[1]}"

    def _lead(self, listening: socket.socket, scheme: str) -> None:
        while True:
            try:
                near, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(near, scheme), daemon=True).start()

    def _connect(self, near: socket.socket, scheme: str) -> None:
        near = self.tls.wrap_socket(near, server_side=True) if scheme == "https" else near
        with near:
            self._through(near, scheme)

    def _through(self, near: socket.socket, scheme: str) -> None:
        if scheme == "socks5":
            near.recv(300)
            near.sendall(b"\x05\x00")
            asked = near.recv(300)
            self.proxied.append(asked[5:-2].decode() if asked[3] == 3 else socket.inet_ntoa(asked[4:8]))
            answer = b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00"
        else:
            self.proxied.append(_head(near).split()[1].decode())
            answer = b"HTTP/1.1 200 OK\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.port)) as far:
            near.sendall(answer)
            back = threading.Thread(target=_pipe, args=(far, near))
            back.start()
            _pipe(near, far)
            back.join()

    def stop(self) -> None:
        for end in self._stopped:
            end()


@contextmanager
def serving(folder: Path) -> Iterator[TlsPeer]:
    keys = folder / "keys"
    keys.mkdir()
    peer = TlsPeer(keys)
    try:
        yield peer
    finally:
        peer.stop()
        shutil.rmtree(keys)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        shown = self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
        subject = dict(part[0] for part in shown["subject"]) if shown else {}  # type: ignore[misc]
        headers = sorted((name.lower(), value) for name, value in self.headers.items())
        relevant = [each for each in headers if each[0].startswith(("authorization", "impersonate"))]
        raw = json.dumps({"headers": relevant, "cert": subject.get("commonName"), "path": self.path}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""


def _head(near: socket.socket) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head:
        head += near.recv(4096)
    return head


def _pipe(source: socket.socket, target: socket.socket) -> None:
    try:
        while part := source.recv(1 << 16):
            target.sendall(part)
        target.shutdown(socket.SHUT_WR)
    except OSError:  # the other side has gone
        return
