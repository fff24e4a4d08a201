"""Requests of the load generator on kept connections, against a peer that says byte by byte what it answers.

Requests go to the ready endpoints of a Service in turn.
How long the load repeats a request: what is away may come back, and what is refused seldom changes.
"""

import socket
import ssl
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from crashloop.kube.credential_plugin import read_access
from crashloop.kube.credentials import Access
from crashloop.stress.assignment import Operation
from load.connections import Answer, Connections, Refused
from load.endpoints import Endpoints, ready_in
from load.patience import Patience
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


def endpoint(pod: str, address: str, *, ready: bool) -> dict[str, Any]:
    return {"addresses": [address], "conditions": {"ready": ready}, "targetRef": {"kind": "Pod", "name": pod}}


SLICES: list[dict[str, Any]] = [
    {"endpoints": [endpoint("second-0-0", "10.0.0.2", ready=True), endpoint("slow-0-0", "10.0.0.3", ready=False)]},
    {"endpoints": None},
    {"endpoints": [endpoint("first-0-0", "10.0.0.1", ready=True)]},
]


def test_only_ready_endpoints_of_all_slices_count() -> None:
    assert ready_in(SLICES) == [("first-0-0", "10.0.0.1"), ("second-0-0", "10.0.0.2")]
    assert ready_in([{}]) == []


class Answers:
    """An API server that gives these slices."""

    def __init__(self, slices: list[dict[str, Any]] | None) -> None:
        self.slices = slices
        self.asked: list[tuple[str, str]] = []

    def endpoint_slices(self, service: str, *, load: str) -> list[dict[str, Any]] | None:
        self.asked.append((service, load))
        return self.slices


def test_each_ready_endpoint_has_its_turn_and_one_that_is_not_gets_nothing() -> None:
    api = Answers(SLICES)
    endpoints = Endpoints(api, "shared", "first")
    assert endpoints.next() is None
    endpoints.look()
    assert api.asked == [("shared", "first")]
    assert sorted(str(endpoints.next()) for _ in range(4)) == sorted(
        [str(("first-0-0", "10.0.0.1")), str(("second-0-0", "10.0.0.2"))] * 2
    )


def test_while_the_api_server_is_away_the_endpoints_stay_as_they_were() -> None:
    api = Answers(SLICES)
    endpoints = Endpoints(api, "shared", "first")
    endpoints.look()
    api.slices = None
    endpoints.look()
    assert endpoints.next() is not None


def given_up(answers: Iterable[tuple[float, int]]) -> tuple[float, float] | None:
    """When the last of these answers (second, code) was reached, and by which limit: 60 s away, 10 s refused."""
    now_s = [0.0]
    patience = Patience(away_s=60, refused_s=10, clock=lambda: now_s[0])
    for now_s[0], code in answers:
        failed = Operation(load="crashers", what="create", sent_ns=1, code=code, error="no")
        if (limit_s := patience.ends_with(failed)) is not None:
            return now_s[0], limit_s
    return None


def every_second(code: int, to_s: int = 100) -> list[tuple[float, int]]:
    return [(float(at_s), code) for at_s in range(to_s)]


@pytest.mark.parametrize("code", [0, 500, 503, 408, 409, 429])
def test_an_api_server_that_is_away_or_busy_is_waited_for(code: int) -> None:
    assert given_up(every_second(code)) == (60, 60)


@pytest.mark.parametrize("code", [400, 401, 403, 404, 422])
def test_a_refusal_is_repeated_for_a_short_while(code: int) -> None:
    assert given_up(every_second(code)) == (10, 10)


def test_only_refusals_in_a_row_count() -> None:
    mixed = [(at_s, 503 if at_s % 9 == 0 else 401) for at_s, _ in every_second(0)]
    assert given_up(mixed) == (60, 60)
    assert given_up([*every_second(0, 30), *((30.0 + at_s, 403) for at_s in range(20))]) == (40, 10)


def test_what_is_left_of_the_time_is_never_less_than_none() -> None:
    now_s = [0.0]
    patience = Patience(away_s=60, refused_s=10, clock=lambda: now_s[0])
    now_s[0] = 25.0
    assert patience.left_s == 35
    now_s[0] = 61.0
    assert patience.left_s == 0
