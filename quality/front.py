"""A front before the kubelet's own HTTPS server: answers /configz with the declared configuration, and forwards the rest.

It has the node's address and port; the kubelet listens on the same port of the loopback address. One request per
connection: requests are forwarded with `Connection: close`, so that no later one can bypass the front.
"""

import asyncio
import json
import ssl
from typing import Any

import msgspec

from quality.configuration import Config, declared_configz

LOOPBACK = "127.0.0.1"
_HEAD_ENDS = b"\r\n\r\n"
_LONGEST_HEAD = 1 << 20


class RequestHead(msgspec.Struct, frozen=True):
    """The head of an HTTP/1.1 request."""

    line: str
    headers: tuple[str, ...]

    @classmethod
    def parse(cls, head: bytes) -> "RequestHead":
        line, *headers = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        return cls(line, tuple(headers))

    @property
    def asks_for_configuration(self) -> bool:
        method, target, *_ = self.line.split(" ")
        return method == "GET" and target.partition("?")[0] == "/configz"

    @property
    def length(self) -> int:
        """Bytes of the body."""
        named = (each.partition(":") for each in self.headers)
        return next((int(value) for name, _, value in named if name.lower() == "content-length"), 0)

    def with_length(self, length: int) -> "RequestHead":
        """The head of a request with another body."""
        kept = (each for each in self.headers if not each.lower().startswith("content-length:"))
        return RequestHead(self.line, (*kept, *([f"Content-Length: {length}"] if length else [])))

    def as_the_only_one(self) -> bytes:
        """The head that allows no further request on the connection; an upgrade keeps the connection to itself."""
        if any(each.lower().startswith("upgrade:") for each in self.headers):
            headers = self.headers
        else:
            kept = (each for each in self.headers if not each.lower().startswith(("connection:", "keep-alive:")))
            headers = (*kept, "Connection: close")
        return ("\r\n".join((self.line, *headers)) + "\r\n\r\n").encode("latin-1")


def response(content: object) -> bytes:
    """A complete answer in JSON; then the connection closes."""
    body = json.dumps(content).encode()
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


class Front:
    """Serves the node's address; `declared` is the configuration to show."""

    def __init__(self, *, address: str, declared: Config) -> None:
        self._address = address
        self._port = int(declared.get("port", 10250))
        self._declared = declared
        self._server: asyncio.Server | None = None
        self._to_kubelet = ssl.create_default_context()
        # The kubelet's certificate names the node's address, not the loopback address.
        self._to_kubelet.check_hostname = False
        self._to_kubelet.verify_mode = ssl.CERT_NONE

    async def start(self) -> None:
        client_ca = self._declared["authentication"]["x509"]["clientCAFile"]
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=client_ca)
        tls.verify_mode = ssl.CERT_REQUIRED
        tls.load_cert_chain(self._declared["tlsCertFile"], self._declared["tlsPrivateKeyFile"])
        self._server = await asyncio.start_server(self._serve, self._address, self._port, ssl=tls, limit=_LONGEST_HEAD)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = RequestHead.parse(await reader.readuntil(_HEAD_ENDS))
            if request.asks_for_configuration:
                writer.write(response(declared_configz(await self._effective(), self._declared)))
                await writer.drain()
            else:
                await self._pass_on(request, reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # one side closed; the other one sees its connection close
        finally:
            writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(LOOPBACK, self._port, ssl=self._to_kubelet)

    async def _effective(self) -> Any:
        """The kubelet's own answer to /configz."""
        reader, writer = await self._connect()
        try:
            writer.write(f"GET /configz HTTP/1.0\r\nHost: {LOOPBACK}\r\n\r\n".encode())
            answer = await reader.read(-1)
            return json.loads(answer.partition(_HEAD_ENDS)[2])
        finally:
            writer.close()

    async def _pass_on(self, request: RequestHead, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_kubelet, to_kubelet = await self._connect()
        try:
            to_kubelet.write(request.as_the_only_one())
            upward = asyncio.create_task(_copy(reader, to_kubelet))
            try:
                await _copy(from_kubelet, writer)
            finally:
                upward.cancel()
        finally:
            to_kubelet.close()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while chunk := await source.read(1 << 16):
        target.write(chunk)
        await target.drain()
