"""HTTP/1.1 to the API server over connections that are kept: a request, and its answer whole or line by line.

Theory of operation. All requests of a load go to one address with nearly the same headers, so these are encoded once; a client
for any address and any header took half of the generator's CPU. A request has a connection for itself. One that is kept may have
been closed by the server in the meantime: then the request goes out once more, on a new connection.

A new connection costs several times a request. If every request that finds none free made one, a moment of slowness would have
all CPU go into handshakes, and nothing would get free any more. So few are made at a time, and what gets free first is taken.
"""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

from crashloop.kube.credentials import Access

_END = b"\r\n"
_READ = 65536
_PORTS = {"http": 80, "https": 443}
_MADE_AT_ONCE = 4
"""Connections."""
_EMPTY = (204, 304)
"""Status of answers that have no body."""


class BadAnswer(OSError):
    """The answer is not HTTP."""


class Answer(NamedTuple):
    """Of the server."""

    code: int
    body: bytes


class Refused(Exception):
    """The API server answered with another status than 200."""

    def __init__(self, answer: Answer) -> None:
        self.code = answer.code
        self.text = answer.body[:300].decode(errors="replace")
        super().__init__(f"the API server answered {self.code}: {self.text}")


class _Closed(ConnectionError):
    """The server has closed the connection."""


class _Unanswered(ConnectionError):
    """The connection ended before the first byte of an answer."""


class _Connection:
    """One request after the other."""

    def __init__(self, access: Access, host: str, port: int, *, timeout_s: float) -> None:
        plain = socket.create_connection((host, port), timeout=timeout_s)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        secure = urlsplit(access.server).scheme == "https"
        try:
            self._socket = access.tls.wrap_socket(plain, server_hostname=host) if secure else plain
        except BaseException:
            plain.close()
            raise
        self._came = bytearray()
        """What has come and is not read."""
        self.is_kept = False
        """Whether the connection can carry a further request once the body is read."""
        self._length: int | None = None
        """Of the body; None if it comes in chunks, or ends with the connection."""
        self._in_chunks = False

    def close(self) -> None:
        self._socket.close()

    def ask(self, request: bytes, *, timeout_s: float) -> int:
        """The status; the body has to be read before the next request. The timeout is that of a single read."""
        self._socket.settimeout(timeout_s)
        try:
            self._socket.sendall(request)
            self._more()
        except (ConnectionError, ssl.SSLEOFError) as error:
            raise _Unanswered(*error.args) from error
        head = self._until(_END + _END)
        try:
            version, code = head[:8], int(head[9:12])
        except ValueError:
            raise BadAnswer(f"no HTTP: {head[:80]!r}") from None
        fields = head.lower()
        length = b"0" if code in _EMPTY else _field(fields, b"content-length")
        self._in_chunks = _field(fields, b"transfer-encoding") == b"chunked"
        self._length = int(length) if length else None
        ends = not self._in_chunks and length is None
        self.is_kept = version == b"HTTP/1.1" and not ends and _field(fields, b"connection") != b"close"
        return code

    def body(self) -> bytes:
        return self._exactly(self._length) if self._length is not None else b"".join(self._pieces())

    def lines(self) -> Iterator[bytes]:
        """Each as soon as it has come."""
        begun = b""
        for piece in self._pieces():
            *whole, begun = (begun + piece).split(b"\n")
            yield from whole
        if begun:
            yield begun

    def _pieces(self) -> Iterator[bytes]:
        if self._length is not None:
            yield self._exactly(self._length)
        elif self._in_chunks:
            while size := int(self._until(_END).partition(b";")[0], 16):
                yield self._exactly(size + len(_END))[: -len(_END)]
            while self._until(_END):
                """A field behind the last chunk."""
        else:
            while True:
                yield self._exactly(len(self._came))
                try:
                    self._more()
                except _Closed:
                    return

    def _until(self, mark: bytes) -> bytes:
        while (end := self._came.find(mark)) < 0:
            self._more()
        return self._exactly(end + len(mark))[: -len(mark)]

    def _exactly(self, size: int) -> bytes:
        while len(self._came) < size:
            self._more()
        found = bytes(self._came[:size])
        del self._came[:size]
        return found

    def _more(self) -> None:
        came = self._socket.recv(_READ)
        if not came:
            raise _Closed("the server closed the connection")
        self._came += came


def _field(head: bytes, name: bytes) -> bytes | None:
    """The value of a header, from a head in small letters."""
    _, found, rest = head.partition(_END + name + b":")
    return rest.partition(_END)[0].strip() if found else None


class Connections:
    """To one server, as many as there are requests at a time."""

    def __init__(self, access: Access) -> None:
        parts = urlsplit(access.server)
        self._access = access
        self._where = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        self._prefix = parts.path.encode()
        self._host = b"Host: %s\r\nUser-Agent: crashloop\r\n" % parts.netloc.encode()
        self._idle: list[_Connection] = []
        self._making = 0
        self._changed = threading.Condition()
        """Of the two."""

    def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        accept: str = "application/json",
        content_type: str = "application/json",
        timeout_s: float,
    ) -> Answer:
        """Raises OSError if no answer comes."""
        fields = {"Accept": accept, "Content-Type": content_type, "Content-Length": str(len(body))}
        request = self._head(method, path, fields) + body
        connection, code = self._asked(request, timeout_s)
        try:
            answer = Answer(code, connection.body())
        except BaseException:
            connection.close()
            raise
        if connection.is_kept:
            with self._changed:
                self._idle.append(connection)
                self._changed.notify()
        else:
            connection.close()
        return answer

    @contextmanager
    def open(self, path: str, *, timeout_s: float) -> Iterator[Iterator[bytes]]:
        """The lines of an answer to a GET while it comes, on a connection of its own: closing it is how a watch is ended.

        Raises OSError, and Refused for another status than 200.
        """
        connection = _Connection(self._access, *self._where, timeout_s=timeout_s)
        try:
            code = connection.ask(self._head("GET", path, {"Accept": "application/json"}), timeout_s=timeout_s)
            if code != 200:
                raise Refused(Answer(code, connection.body()))
            yield connection.lines()
        finally:
            connection.close()

    def close(self) -> None:
        """Close the connections that carry no request."""
        while self._idle:
            self._idle.pop().close()

    def _asked(self, request: bytes, timeout_s: float) -> tuple[_Connection, int]:
        while True:
            connection = self._free(timeout_s)
            is_new = not connection.is_kept
            try:
                return connection, connection.ask(request, timeout_s=timeout_s)
            except _Unanswered:
                connection.close()
                if is_new:
                    raise
                self.close()  # what was kept beside it has most likely ended, too
            except BaseException:
                connection.close()
                raise

    def _free(self, timeout_s: float) -> _Connection:
        """A kept connection, or a new one. Raises OSError."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._idle or self._making < _MADE_AT_ONCE, timeout_s):
                raise TimeoutError("no connection got free in time")
            if self._idle:
                return self._idle.pop()
            self._making += 1
        try:
            return _Connection(self._access, *self._where, timeout_s=timeout_s)
        finally:
            with self._changed:
                self._making -= 1
                self._changed.notify()

    def _head(self, method: str, path: str, fields: dict[str, str]) -> bytes:
        said = "".join(f"{name}: {value}\r\n" for name, value in (fields | self._access.headers()).items())
        return b"%s %s%s HTTP/1.1\r\n%s%s\r\n" % (
            method.encode(),
            self._prefix,
            path.encode(),
            self._host,
            said.encode("latin-1"),
        )
