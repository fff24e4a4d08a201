"""HTTP/1.1 as the fronts need it: heads of requests, one request per connection, bodies that are passed on as bytes."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

LOOPBACK = "127.0.0.1"
HEAD_ENDS = b"\r\n\r\n"
LONGEST_HEAD = 1 << 20


class RequestHead(msgspec.Struct, frozen=True):
    """The head of an HTTP/1.1 request."""

    line: str
    headers: tuple[str, ...]

    @classmethod
    def parse(cls, head: bytes) -> "RequestHead":
        line, *headers = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        return cls(line, tuple(headers))

    @property
    def reads_configuration(self) -> bool:
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


@asynccontextmanager
async def until_closed(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    """Serve a connection, and close it; where one side closes first, the other one sees its connection close."""
    try:
        yield
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Pass everything on as it comes."""
    while chunk := await source.read(1 << 16):
        target.write(chunk)
        await target.drain()
