"""Workers on other machines: Locust's own master and workers, which share nothing but a connection.

Messages between a master and its workers on other machines.
"""

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from crashloop import __version__
from crashloop.resources import HOME
from crashloop.stress.assignment import (
    WORKERS,
    Joining,
    Operation,
    StageMark,
    WorkerLine,
    journal_path,
    prepare_stage,
    read_jsonl,
)
from crashloop.stress.generator import LOOPBACK, Address, Generator, free_port
from crashloop.stress.loads import WORKER_LABEL, Crash
from crashloop.stress.profile import Stage
from crashloop.waiting import wait_until
from load.messages import Journal, Received, Record, clocks_differ_s, packed, unpacked
from suites.selftest.kit.load_peer import Accepting, accepting, write_order
from suites.selftest.kit.remote_worker import RemoteWorker, remote_workers

WITHIN_S = 120.0
"""Ends a wait for what comes in seconds; a host may be busy."""
SILENT_S = 5.0
"""Instead of 30 s."""
HOST = socket.gethostname()


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """The kubeconfig of the workers."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    return folder / "kubeconfig"


@pytest.fixture
def peer(tmp_path: Path, theirs: Path) -> Iterator[Accepting]:
    with accepting(tmp_path) as peer:
        shutil.copy(tmp_path / "kubeconfig", theirs)
        yield peer


@pytest.fixture
def master() -> Address:
    return Address(LOOPBACK, free_port())


def created(peer: Accepting) -> None:
    wait_until("three pods to be created", lambda: len(peer.paths("POST")) >= 3, timeout_s=WITHIN_S)


def over(generator: Generator) -> None:
    wait_until("the load to be over", generator.has_ended, timeout_s=WITHIN_S)
    generator.stop(within_s=WITHIN_S)


def lines(folder: Path) -> list[tuple[int, str, str]]:
    return [(each.worker, each.host, each.what) for each in read_jsonl(folder / "load" / WORKERS, WorkerLine)]


def worker_of(pod: Any) -> int:
    return int(pod["metadata"]["labels"][WORKER_LABEL])


def created_by(folder: Path, worker: int) -> set[str]:
    """Pods whose creation a worker has reported."""
    operations = read_jsonl(folder / f"load/operations-{worker}.jsonl", Operation)
    return {each.pod for each in operations if each.what == "create"}


def test_what_workers_elsewhere_do_is_recorded_in_the_folder_of_the_run(
    peer: Accepting, tmp_path: Path, theirs: Path, master: Address
) -> None:
    generator = Generator(write_order(tmp_path, remote_workers=2, keeps_journals=True), workers=2, listen=master)
    with remote_workers(master, theirs, count=2) as workers:
        generator.start()
        over(generator)
        assert [worker.ended()[0] for worker in workers] == [0, 0]
    marks = read_jsonl(tmp_path / "load/stages.jsonl", StageMark)
    assert [(mark.what, mark.users) for mark in marks] == [("begin", 0), ("measure", 3), ("drain", 3), ("end", 0)]
    assert sorted(lines(tmp_path)) == [(1, HOST, "came"), (2, HOST, "came")]
    made = [created_by(tmp_path, 1), created_by(tmp_path, 2)]
    assert all(made)
    assert sorted(made[0] | made[1]) == sorted(peer.paths("DELETE"))
    assert sorted(pod["metadata"]["name"] for pod in peer.created) == sorted(peer.paths("DELETE"))
    assert all(journal_path(tmp_path / "load", pod, "app").exists() for pod in made[0] | made[1])
    assert list(generator.deaths()) == []


def test_workers_elsewhere_know_in_which_stage_arms_have_changed_places(
    peer: Accepting, tmp_path: Path, theirs: Path, master: Address
) -> None:
    stage = Stage(name="storm", duration_s=1, users={"a": 1, "b": 1}, spawn_per_s=10, settle_s=0)
    exchanged = Stage(
        name="storm", duration_s=1, users={"a": 1, "b": 1}, spawn_per_s=10, settle_s=0, exchanged=("base", "treat")
    )
    order = write_order(
        tmp_path,
        remote_workers=1,
        hosts={"base": "one", "treat": "two"},
        loads={"a": Crash(node="base"), "b": Crash(node="treat")},
        stages=(stage, exchanged),
    )
    prepare_stage(order.parent, 1)
    generator = Generator(order, workers=1, listen=master)
    with remote_workers(master, theirs):
        generator.start()
        over(generator)
    placed = [(pod["metadata"]["name"], pod["spec"]["nodeName"]) for pod in peer.created]
    assert sorted(placed) == [("a-1-0", "one"), ("a-1-1", "two"), ("b-1-0", "two"), ("b-1-1", "one")]


def test_a_worker_that_goes_away_is_reported_once_and_no_other_takes_its_place(
    peer: Accepting, tmp_path: Path, theirs: Path, master: Address
) -> None:
    generator = Generator(write_order(tmp_path, duration_s=600, remote_workers=2), workers=2, listen=master)
    with remote_workers(master, theirs, count=2) as (one, _):
        generator.start()
        created(peer)
        one.kill()
        wait_until("its end to be noticed", lambda: "left" in str(lines(tmp_path)), timeout_s=WITHIN_S)
        (death,) = generator.deaths()
        with remote_workers(master, theirs) as (late,):
            assert late.ended() == (1, f"load-worker: the master at {master} refuses: the load has begun.\n")
        assert list(generator.deaths()) == []
        generator.stop(within_s=WITHIN_S)
    assert death.worker in (1, 2)
    assert death.sentence == f"The worker {death.worker} of the load ({HOST}) went away before the load was over."


@pytest.mark.parametrize("count", [1, 2], ids=["the only one", "one of two"])
def test_a_worker_that_was_silent_for_too_long_removes_its_objects_and_ends_when_it_returns(
    peer: Accepting, tmp_path: Path, theirs: Path, master: Address, count: int
) -> None:
    order = write_order(tmp_path, duration_s=600, remote_workers=count, silent_s=SILENT_S)
    generator = Generator(order, workers=count, listen=master)
    with remote_workers(master, theirs, count=count) as (one, *_):
        generator.start()
        created(peer)
        with one.paused():
            wait_until("its silence to be noticed", lambda: "left" in str(lines(tmp_path)), timeout_s=WITHIN_S)
            (death,) = generator.deaths()
        assert one.ended()[0] == 0
        assert death.worker is not None
        its_own = [pod["metadata"]["name"] for pod in peer.created if worker_of(pod) == death.worker]
        assert its_own
        assert set(its_own) <= set(peer.paths("DELETE"))
        assert list(generator.deaths()) == []
        assert [what for _, _, what in lines(tmp_path)] == ["came"] * count + ["left"]
        generator.stop(within_s=WITHIN_S)
    assert sorted(peer.paths("DELETE")) == sorted(pod["metadata"]["name"] for pod in peer.created)
    assert death.sentence == f"The worker {death.worker} of the load ({HOST}) went away before the load was over."


@pytest.mark.parametrize(
    ("twist", "sentence"),
    [
        (
            "import crashloop; crashloop.__version__ = '0.0.1'",
            rf"the master at MASTER refuses: this run is of crashloop {re.escape(__version__)}, the worker of 0\.0\.1\.",
        ),
        (
            "import time; now_ns = time.time_ns; time.time_ns = lambda: now_ns() + 3_600_000_000_000",
            r"the clock of this machine is 3\d{3}\.\d{3} s ahead of that of MASTER; 0\.05 s are allowed\. "
            r"Synchronize both with the same source\.",
        ),
        ("", r"the master at MASTER refuses: all workers \(1\) have come\."),
    ],
    ids=["another version", "another clock", "one too many"],
)
def test_a_worker_that_does_not_fit_gets_no_order(
    peer: Accepting, tmp_path: Path, theirs: Path, master: Address, twist: str, sentence: str
) -> None:
    """The last one is too many while the nodes rest before the first stage."""
    stage = Stage(name="storm", duration_s=1, users={"crashers": 3}, washout_s=600)
    generator = Generator(write_order(tmp_path, remote_workers=1, stages=(stage,)), workers=1, listen=master)
    generator.start()
    try:
        with remote_workers(master, theirs, count=0 if twist else 1):
            if not twist:
                wait_until("the worker to come", lambda: bool(lines(tmp_path)), timeout_s=WITHIN_S)
            said = refused(twist, master, theirs)
    finally:
        generator.stop(within_s=WITHIN_S)
    assert re.fullmatch(rf"load-worker: {sentence}\n".replace("MASTER", re.escape(str(master))), said), said


def refused(twist: str, master: Address, kubeconfig: Path) -> str:
    """What a worker says that asks for its order, and gets none."""
    joining = Joining(host=master.host, port=master.port, kubeconfig=str(kubeconfig), within_s=WITHIN_S)
    asking = (
        f"{twist}\nimport msgspec\nfrom crashloop.stress.assignment import Joining\n"
        "from load.remote_master import ask_for_order\n"
        f"ask_for_order(msgspec.json.decode({msgspec.json.encode(joining)!r}, type=Joining))"
    )
    command = [sys.executable, "-W", "ignore", "-c", asking]
    ended = subprocess.run(command, cwd=HOME, capture_output=True, text=True, timeout=2 * WITHIN_S, check=False)
    assert ended.returncode == 1, ended.stderr
    return ended.stderr


def test_workers_elsewhere_take_away_what_they_have_made_when_the_run_is_stopped(
    peer: Accepting, tmp_path: Path, theirs: Path, master: Address
) -> None:
    generator = Generator(write_order(tmp_path, duration_s=600, remote_workers=2), workers=2, listen=master)
    with remote_workers(master, theirs, count=2) as workers:
        generator.start()
        created(peer)
        generator.stop(within_s=WITHIN_S)
        assert [worker.ended()[0] for worker in workers] == [0, 0]
    assert sorted(peer.paths("DELETE")) == sorted(pod["metadata"]["name"] for pod in peer.created)


def test_a_load_to_which_nobody_comes_is_given_up(peer: Accepting, tmp_path: Path, master: Address) -> None:
    order = write_order(tmp_path, remote_workers=2)
    generator = Generator(order, workers=2, listen=master, workers_within_s=1)
    generator.start()
    over(generator)
    assert [death.sentence for death in generator.deaths()] == [
        f"0 of 2 workers connected to {master} within 1 s; see load/generator.log."
    ]
    assert list(generator.deaths()) == []
    assert peer.paths("POST") == []


def test_the_credential_plug_in_of_a_worker_runs_in_the_folder_of_its_user(
    peer: Accepting, tmp_path: Path, theirs: Path, master: Address
) -> None:
    """As under kubectl: its arguments may be paths in that folder."""
    said = '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "t"}}'
    (theirs.parent / "plugin.py").write_text(f"print({said!r})")
    document = yaml.safe_load(theirs.read_text())
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable, "args": ["plugin.py"]}
    document["users"][0]["user"] = {"exec": plugin}
    theirs.write_text(yaml.safe_dump(document))
    generator = Generator(write_order(tmp_path, remote_workers=1), workers=1, listen=master)
    with remote_workers(master, theirs) as (worker,):
        generator.start()
        over(generator)
        assert worker.ended()[0] == 0
    assert len(peer.paths("POST")) == 3


def test_a_worker_that_finds_no_master_gives_up(peer: Accepting, theirs: Path, master: Address) -> None:
    worker = RemoteWorker(master, theirs, "--within", "1")
    assert worker.ended() == (1, f"load-worker: no master of a stress run answered at {master} within 1 s.\n")


def test_a_worker_without_credentials_does_not_look_for_a_master(tmp_path: Path, master: Address) -> None:
    code, said = RemoteWorker(master, tmp_path / "nothing").ended()
    assert code == 2
    assert f"kubeconfig {tmp_path / 'nothing'}: there is no such file." in said


S = 1_000_000_000


@pytest.mark.parametrize(
    "message",
    [
        Record(serial=3, what=Operation(load="crashers", what="create", pod="crashers-1-0", sent_ns=5, code=201)),
        Record(serial=4, journal=Journal(pod="crashers-1-0", container="main", text="ü\n")),
    ],
    ids=["an operation", "a journal"],
)
def test_a_record_arrives_as_it_was_sent(message: Record) -> None:
    assert unpacked(packed(message), Record) == message


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="missing required field `serial`"):
        unpacked({"what": None}, Record)


@pytest.mark.parametrize(
    ("answered_ns", "differ_s"),
    [(10 * S, 0), (10 * S + 5, 0), (12 * S, 0), (13 * S, -1), (7 * S, 3)],
    ids=["at the question", "between", "at the answer", "behind", "ahead"],
)
def test_clocks_differ_only_by_what_the_way_of_the_messages_cannot_explain(answered_ns: int, differ_s: float) -> None:
    assert clocks_differ_s(asked_ns=10 * S, answered_ns=answered_ns, received_ns=12 * S) == differ_s


@pytest.mark.parametrize(
    ("serials", "lost"),
    [([], 0), ([0, 1, 2], 0), ([1, 0, 2], 0), ([0, 2], 1), ([3], 3)],
    ids=["none", "all", "all in another order", "one", "the first"],
)
def test_records_that_did_not_arrive_are_counted(serials: list[int], lost: int) -> None:
    received = Received()
    for serial in serials:
        received.take(serial)
    assert received.lost == lost
