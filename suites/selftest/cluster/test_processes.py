"""Processes of a cluster are found by their mark, told from later ones with the same id, and ended for good."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from crashloop.cluster.processes import (
    Starter,
    exit_code,
    is_alive,
    kill_until_gone,
    marked_processes,
    signal_daemon,
    signals_as_exit,
    wait_gone,
)
from crashloop.errors import ClusterError, PrerequisiteError
from crashloop.waiting import wait_until

SLEEP = ("sleep", "1000")
CLEANS = """
import os, signal
from crashloop.cluster.processes import signals_as_exit
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a runner below nohup(1) has it ignored
with signals_as_exit():
    try:
        os.kill(os.getpid(), signal.SIG{})
    finally:
        os.kill(os.getpid(), signal.SIGHUP)
        print("cleaned")
"""


@pytest.fixture
def starter(tmp_path: Path) -> Iterator[Starter]:
    yield Starter(tmp_path)
    kill_until_gone(lambda: marked_processes(tmp_path), describe="what the test has started")


def test_a_process_lives_on_after_a_step_of_the_wall_clock_and_is_not_one_of_another_boot(
    starter: Starter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = starter.start(SLEEP, node="one", log=tmp_path / "log")
    booted_s = psutil.boot_time()
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: booted_s + 3600)
    assert is_alive(daemon)
    assert not is_alive(msgspec.structs.replace(daemon, boot="another"))
    signal_daemon(msgspec.structs.replace(daemon, started=daemon.started + 1), signal.SIGKILL)
    assert is_alive(daemon)
    signal_daemon(daemon, signal.SIGKILL)
    wait_gone(daemon, describe="sleep")


def test_a_process_is_found_by_its_mark_and_so_is_what_it_starts(starter: Starter, tmp_path: Path) -> None:
    daemon = starter.start(("sh", "-c", "sleep 1000 & wait"), node="one", log=tmp_path / "log")
    pids = wait_until(
        "the child",
        lambda: found if len(found := marked_processes(tmp_path)) == 2 else None,
        timeout_s=60,
        every_s=0.01,
    )
    assert daemon.pid in pids
    assert marked_processes(tmp_path, "one") == pids
    assert marked_processes(tmp_path, "another") == set()
    assert marked_processes(tmp_path / "longer") == set()
    assert marked_processes(tmp_path.parent) == set()


def test_a_process_makes_folders_that_users_of_containers_may_enter(starter: Starter, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        daemon = starter.start(("mkdir", str(tmp_path / "made")), node="one", log=tmp_path / "log")
    finally:
        os.umask(before)
    wait_gone(daemon, describe="mkdir")
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o755


def test_a_process_of_another_start_time_is_not_ours(starter: Starter, tmp_path: Path) -> None:
    daemon = starter.start(SLEEP, node="one", log=tmp_path / "log")
    earlier = msgspec.structs.replace(daemon, started=daemon.started - 1)
    assert is_alive(daemon)
    assert not is_alive(earlier)
    signal_daemon(earlier, signal.SIGKILL)
    assert is_alive(daemon)


def test_how_a_process_ended_is_known(starter: Starter, tmp_path: Path) -> None:
    failed = starter.start(("sh", "-c", "echo no >&2; exit 3"), node="one", log=tmp_path / "log")
    killed = starter.start(SLEEP, node="one", log=tmp_path / "log")
    assert exit_code(killed) is None
    signal_daemon(killed, signal.SIGTERM)
    for daemon in (failed, killed):
        wait_gone(daemon, describe="process")
    assert (exit_code(failed), exit_code(killed)) == (3, -signal.SIGTERM)
    assert (tmp_path / "log").read_text() == "no\n"


def test_killing_goes_on_until_nothing_is_found(starter: Starter, tmp_path: Path) -> None:
    daemons = [
        starter.start(("sh", "-c", "sleep 1000 & sleep 1000"), node="one", log=tmp_path / "log") for _ in range(3)
    ]
    kill_until_gone(lambda: marked_processes(tmp_path), describe="all")
    assert marked_processes(tmp_path) == set()
    assert not any(is_alive(daemon) for daemon in daemons)


def test_what_cannot_be_killed_is_named() -> None:
    with pytest.raises(ClusterError, match=r"processes of demo to end: still there after SIGKILL and 0\.1 s"):
        kill_until_gone(lambda: {2**22 + 1}, describe="processes of demo to end", timeout_s=0.1)


def test_a_holder_says_when_it_is_ready(starter: Starter, tmp_path: Path) -> None:
    daemon = starter.start_holder(("sh", "-c", "echo ready; exec sleep 1000"), node="one", log=tmp_path / "log")
    assert is_alive(daemon)


def test_a_holder_that_cannot_make_its_namespaces_says_why(starter: Starter, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"namespaces of one: .*\nnot permitted\nRun as root"):
        starter.start_holder(("sh", "-c", "echo not permitted >&2"), node="one", log=tmp_path / "log")


def test_a_program_that_is_not_there_is_a_prerequisite(starter: Starter, tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="no-such-program: cannot be started"):
        starter.start(("no-such-program",), node="one", log=tmp_path / "log")


def test_settings_of_the_users_other_programs_do_not_reach_components(
    starter: Starter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_others = {
        "HTTPS_PROXY",
        "http_proxy",
        "ETCD_NAME",
        "CONTAINERD_NAMESPACE",
        "KUBE_FEATURE_WatchList",
        "NOTIFY_SOCKET",
    }
    theirs = {"HOME", "LC_ALL", "TZ", "GOMAXPROCS"}
    for name in of_others | theirs:
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("TMPDIR", "/nonexistent")
    daemon = starter.start(("env",), node="one", log=tmp_path / "log")
    wait_gone(daemon, describe="env")
    lines = (tmp_path / "log").read_text().splitlines()
    assert {line.split("=")[0] for line in lines} & (of_others | theirs) == theirs
    assert f"TMPDIR={tmp_path}" in lines


@pytest.mark.parametrize("name", ["TERM", "HUP"])
def test_what_was_begun_is_cleaned_up_though_a_second_signal_comes(name: str) -> None:
    ended = subprocess.run([sys.executable, "-c", CLEANS.format(name)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (128 + getattr(signal, f"SIG{name}"), "cleaned\n"), ended.stderr


def test_what_ends_a_command_from_outside_ends_what_it_runs(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    shell = f"echo $$ > {started}.new; mv {started}.new {started}; exec sleep 1000"
    runs = f"import crashloop.cluster.processes as its; its.run(['sh', '-c', {shell!r}], describe='it', timeout_s=900)"
    with subprocess.Popen([sys.executable, "-c", runs]) as command:
        wait_until("what it runs", started.exists, timeout_s=60, every_s=0.01)
        command.terminate()
    assert command.returncode == 128 + signal.SIGTERM
    assert not psutil.pid_exists(int(started.read_text()))


def test_a_signal_that_the_caller_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_as_exit():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
