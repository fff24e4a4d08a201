"""The load generator as a process: Locust itself, against a server that accepts everything."""

import json
import signal
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from crashloop.stress.folder import read_jsonl
from crashloop.stress.generator import Generator
from crashloop.stress.loads import Crash
from crashloop.stress.order import Operation, Order, StageMark
from crashloop.stress.profile import Stage
from crashloop.waiting import wait_until
from suites.selftest.kube_peer import write_kubeconfig


class Accepting:
    """Takes every object, tells of none, and forgets what is deleted: a delete is answered as of something unknown."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        """Method and path, in order."""
        self.stopped = threading.Event()

    def paths(self, method: str) -> list[str]:
        return [path.rpartition("/")[2] for seen, path in list(self.requests) if seen == method]


def handler(peer: Accepting) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if "watch=true" in self.path:
                peer.stopped.wait()
            self._answer(200, {"kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": []})

        def do_POST(self) -> None:
            self._answer(201, {})

        def do_DELETE(self) -> None:
            self._answer(404, {})

        def _answer(self, code: int, body: dict[str, Any]) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            peer.requests.append((self.command, self.path))
            raw = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Clients that go away are expected."""


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Accepting]:
    """A peer whose kubeconfig is in the folder."""
    accepting = Accepting()
    server = _Server(("127.0.0.1", 0), handler(accepting))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    write_kubeconfig(tmp_path, server.server_port)
    try:
        yield accepting
    finally:
        accepting.stopped.set()
        server.shutdown()
        thread.join()
        server.server_close()


def order(folder: Path, *, duration_s: float) -> Path:
    load = folder / "load"
    load.mkdir()
    written = Order(
        kubeconfig=str(folder / "kubeconfig"),
        namespace="ns",
        run="r",
        image="image",
        hosts={"storm": "storm"},
        loads={"crashers": Crash(node="storm")},
        stages=(Stage(name="storm", duration_s=duration_s, users={"crashers": 3}, spawn_per_s=10, settle_s=0),),
        folder=str(load),
        ends_after_s=60,
        drain_within_s=20,
    )
    path = load / "load.json"
    path.write_bytes(msgspec.json.encode(written))
    return path


PODS = ["crashers-0-0", "crashers-0-1", "crashers-0-2"]


def created(peer: Accepting) -> None:
    wait_until("three pods to be created", lambda: len(peer.paths("POST")) >= 3, timeout_s=60)


def test_a_stage_comes_is_measured_and_takes_away_what_it_has_made(peer: Accepting, tmp_path: Path) -> None:
    generator = Generator(order(tmp_path, duration_s=1), workers=0)
    generator.start()
    wait_until("the load to be over", generator.has_ended, timeout_s=60)
    generator.stop(within_s=5)
    marks = list(read_jsonl(tmp_path / "load/stages.jsonl", StageMark))
    operations = list(read_jsonl(tmp_path / "load/operations-0.jsonl", Operation))
    assert [(mark.what, mark.users) for mark in marks] == [("begin", 0), ("measure", 3), ("drain", 3), ("end", 0)]
    assert sorted(each.pod for each in operations if each.what == "create") == PODS
    assert sorted(peer.paths("DELETE")) == PODS
    assert list(generator.deaths()) == []


def test_a_load_that_is_told_to_end_takes_away_what_it_has_made(peer: Accepting, tmp_path: Path) -> None:
    generator = Generator(order(tmp_path, duration_s=600), workers=0)
    generator.start()
    created(peer)
    generator.stop(within_s=30)
    assert sorted(peer.paths("DELETE")) == PODS
    assert list(generator.deaths()) == []


def test_a_load_whose_runner_is_gone_takes_away_what_it_has_made(peer: Accepting, tmp_path: Path) -> None:
    generator = Generator(order(tmp_path, duration_s=600), workers=0)
    generator.start()
    created(peer)
    generator.let_go()
    wait_until("the load to be over", generator.has_ended, timeout_s=60)
    generator.stop(within_s=5)
    assert sorted(peer.paths("DELETE")) == PODS


def test_a_generator_that_was_killed_is_told_once(peer: Accepting, tmp_path: Path) -> None:
    generator = Generator(order(tmp_path, duration_s=600), workers=0)
    generator.start()
    created(peer)
    psutil.Process(generator.pids[0]).send_signal(signal.SIGKILL)
    wait_until("the generator to be gone", generator.has_ended, timeout_s=20)
    (death,) = generator.deaths()
    generator.stop(within_s=5)
    assert death.sentence == "The generator of the load ended with signal 9 (Killed); see load/generator.log."
    assert list(generator.deaths()) == []
    assert peer.paths("DELETE") == []
