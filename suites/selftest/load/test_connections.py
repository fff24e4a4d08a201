"""Requests of the load generator on kept connections, against a peer that says byte by byte what it answers."""

import socket
import ssl
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from crashloop.kube.credentials import Access, read_access
from load.connections import Answer, Connections, Refused
from suites.selftest.kit.load_peer import accepting

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
IN_CHUNKS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
WITHIN_S = 60.0


class Peer:
    """Serves one connection after the other; each gives its answers, one a request, and is closed."""

    def __init__(self, *connections: Sequence[bytes]) -> None:
        self.requests: list[bytes] = []
        self._connections = connections
        self._listening = socket.create_server(("127.0.0.1", 0))
        host, port = self._listening.getsockname()
        tls, server = ssl.create_default_context(), f"http://{host}:{port}/at"
        self.access = Access(
            server=server, tls=tls, server_name=None, proxy=None, headers=lambda: {"Authorization": "B"}
        )

    def serve(self) -> None:
        for answers in self._connections:
            connection, _ = self._listening.accept()
            with connection, connection.makefile("rwb", buffering=0) as stream:
                for answer in answers:
                    self.requests.append(self._request(stream))
                    stream.write(answer)
        self._listening.close()

    @staticmethod
    def _request(stream: socket.SocketIO) -> bytes:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += stream.read(1) or b"\r\n\r\n"
        length = next((int(line[16:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")), 0)
        return head + (stream.read(length) or b"" if length else b"")


@contextmanager
def peer(*conversations: Sequence[bytes]) -> Iterator[tuple[Peer, Connections]]:
    serving = Peer(*conversations)
    thread = threading.Thread(target=serving.serve)
    thread.start()
    connections = Connections(serving.access)
    try:
        yield serving, connections
    finally:
        connections.close()
        thread.join(WITHIN_S)


def get(connections: Connections) -> Answer:
    return connections.ask("GET", "/pods", timeout_s=WITHIN_S)


def test_a_request_says_where_it_goes_what_it_carries_and_who_asks() -> None:
    with peer([OK]) as (serving, connections):
        assert connections.ask("POST", "/pods?x=1", b"{}", accept="a/b", timeout_s=WITHIN_S) == Answer(200, b"ok")
    lines = serving.requests[0].split(b"\r\n")
    assert lines[0] == b"POST /at/pods?x=1 HTTP/1.1"
    assert {b"Accept: a/b", b"Content-Type: application/json", b"Content-Length: 2", b"Authorization: B"} < set(lines)
    assert serving.requests[0].endswith(b"\r\n\r\n{}")


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (OK, b"ok"),
        (IN_CHUNKS + b"3;x=y\r\n{a}\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n", b"{a}0123456789"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it", b"all of it"),
        (b"HTTP/1.0 200 OK\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\ncontent-LENGTH:  1\r\n\r\nx", b"x"),
    ],
    ids=["by its length", "in chunks", "until the connection ends", "empty", "fields in any letters"],
)
def test_an_answer_is_read_to_its_end(answer: bytes, body: bytes) -> None:
    with peer([answer]) as (_, connections):
        assert get(connections).body == body


def test_a_connection_carries_one_request_after_the_other() -> None:
    chunked = IN_CHUNKS + b"1\r\nx\r\n0\r\n\r\n"
    with peer([OK, b"HTTP/1.1 204 No Content\r\n\r\n", chunked, OK]) as (_, connections):
        assert [get(connections) for _ in range(4)] == [(200, b"ok"), (204, b""), (200, b"x"), (200, b"ok")]


def test_a_request_on_a_connection_that_was_closed_meanwhile_goes_out_once_more() -> None:
    with peer([OK], [OK]) as (serving, connections):
        assert [get(connections).code for _ in range(2)] == [200, 200]
    assert len(serving.requests) == 2


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "the server closed the connection"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", "the server closed the connection"),
        (b"220 mail ready for all\r\n\r\n", "no HTTP: b'220 mail ready for all'"),
    ],
    ids=["nothing", "cut short", "not HTTP"],
)
def test_without_a_whole_answer_a_request_has_failed(answer: bytes, why: str) -> None:
    with peer([answer]) as (_, connections), pytest.raises(OSError, match=why):
        get(connections)


def test_an_answer_that_broke_off_is_not_asked_for_again() -> None:
    """The server may have done what was asked."""
    with peer([OK, b"HTTP/1.1 201"]) as (serving, connections):
        get(connections)
        with pytest.raises(OSError, match="the server closed the connection"):
            connections.ask("POST", "/pods", b"{}", timeout_s=WITHIN_S)
    assert len(serving.requests) == 2


def test_lines_are_given_out_as_they_come_in_whatever_pieces() -> None:
    pieces = IN_CHUNKS + b"4\r\na\nb\n\r\n2\r\ncd\r\n3\r\ne\nf\r\n0\r\n\r\n"
    with peer([pieces]) as (_, connections), connections.open("/pods", timeout_s=WITHIN_S) as lines:
        assert list(lines) == [b"a", b"b", b"cde", b"f"]


def test_a_refused_watch_says_why() -> None:
    gone = b"HTTP/1.1 410 Gone\r\nContent-Length: 7\r\n\r\nexpired"
    refusal = pytest.raises(Refused, match="the API server answered 410: expired")
    with peer([gone]) as (_, connections), refusal, connections.open("/pods", timeout_s=WITHIN_S):
        pass


def test_few_connections_are_made_at_a_time_and_requests_take_what_gets_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen requests at once, while the first connections take their time."""
    connect, making, most, enough = socket.create_connection, Counter[str](), Counter[str](), threading.Event()
    lock = threading.Lock()

    def slowly(*where: Any, **options: Any) -> socket.socket:
        with lock:
            making["now"] += 1
            most["at once"] = max(most["at once"], making["now"])
            if making["now"] == 4:
                enough.set()
        assert enough.wait(WITHIN_S)
        found = connect(*where, **options)
        with lock:
            making["now"] -= 1
        return found

    with accepting(tmp_path):
        connections = Connections(read_access(str(tmp_path / "kubeconfig")))
        monkeypatch.setattr(socket, "create_connection", slowly)
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: get(connections).code, range(16)))
        connections.close()
    assert answers == [200] * 16
    assert most["at once"] == 4
