"""The program of a container, run for real by every shell at hand, lives and exits and keeps its journal as planned."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from crashloop.history.journal import Journal, StampKind, read_journal
from crashloop.pods.program import command, probe_command
from crashloop.spec.program import HOLDS, Life, Program, runs
from crashloop.spec.scenario import Container, Probe
from crashloop.waiting import wait_until

SHELLS = {"sh": ["/bin/sh"]} | ({"busybox": [busybox, "sh"]} if (busybox := shutil.which("busybox")) else {})


@pytest.fixture(params=list(SHELLS.values()), ids=list(SHELLS))
def shell(request: pytest.FixtureRequest) -> list[str]:
    return list(request.param)


def argv(shell: list[str], container: Container, evidence: Path) -> list[str]:
    return [*shell, *command(container, evidence_dir=str(evidence))[1:]]


def live_once(shell: list[str], container: Container, evidence: Path) -> tuple[int, str]:
    done = subprocess.run(argv(shell, container, evidence), capture_output=True, text=True, timeout=20, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


def stamps(journal: Journal) -> list[tuple[StampKind, int, int | None]]:
    return [(stamp.kind, stamp.life, stamp.exit_code) for stamp in journal.stamps]


@contextmanager
def holding(shell: list[str], container: Container, evidence: Path) -> Iterator[subprocess.Popen[str]]:
    """A life that holds, once it has stamped its start; afterwards nothing of it is left, as in a container."""
    journal = evidence / f"{container.name}.journal"
    before = journal.read_text() if journal.exists() else ""
    process = subprocess.Popen(
        argv(shell, container, evidence), stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        wait_until(
            "the life to stamp its start",
            lambda: journal.exists() and journal.read_text() != before,
            timeout_s=10,
            every_s=0.01,
        )
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=10)


def test_each_life_exits_as_planned_and_its_log_holds_all_earlier_ones(shell: list[str], tmp_path: Path) -> None:
    container = Container(program=Program((Life(exit_code=1, times=2), Life(run_s=0.05, exit_code=42))))
    assert [live_once(shell, container, tmp_path)[0] for _ in range(2)] == [1, 1]
    code, log = live_once(shell, container, tmp_path)
    assert code == 42
    journal = read_journal(log)
    assert journal.damage == ()
    assert stamps(journal) == [
        (StampKind.START, 0, None),
        (StampKind.EXIT, 0, 1),
        (StampKind.START, 1, None),
        (StampKind.EXIT, 1, 1),
        (StampKind.START, 2, None),
        (StampKind.EXIT, 2, 42),
    ]
    assert (tmp_path / "app.journal").read_text() == log
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert {stamp.boot_id for stamp in journal.stamps if stamp.kind is StampKind.START} == {boot_id}


def test_a_life_runs_at_least_as_long_as_planned(shell: list[str], tmp_path: Path) -> None:
    _, log = live_once(shell, Container(program=runs((0.25, 0))), tmp_path)
    start, end = read_journal(log).stamps
    assert end.boot_ns - start.boot_ns >= 240_000_000, "two stamps, each rounded down by up to 10 ms"


def test_after_its_last_life_it_holds_until_it_is_told_to_end(shell: list[str], tmp_path: Path) -> None:
    container = Container(program=runs((0, 3)), exit_code_on_term=9)
    assert live_once(shell, container, tmp_path)[0] == 3
    with holding(shell, container, tmp_path) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 9
    log = (tmp_path / "app.journal").read_text()
    assert stamps(read_journal(log))[2:] == [(StampKind.START, 1, None), (StampKind.EXIT, 1, 9)]


def test_a_life_that_is_killed_leaves_no_exit_stamp_and_the_next_one_goes_on(shell: list[str], tmp_path: Path) -> None:
    with holding(shell, Container(program=HOLDS), tmp_path) as process:
        process.kill()
    assert live_once(shell, Container(program=runs((9, 9), (0, 0))), tmp_path)[0] == 0
    journal = read_journal((tmp_path / "app.journal").read_text())
    assert stamps(journal) == [(StampKind.START, 0, None), (StampKind.START, 1, None), (StampKind.EXIT, 1, 0)]
    assert journal.damage == ()


def test_containers_of_a_pod_keep_journals_of_their_own(shell: list[str], tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert live_once(shell, Container(name=name, program=runs((0, 1))), tmp_path)[0] == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.journal", "two.journal"]


def test_a_probe_fails_from_the_stated_second_of_each_life_on(shell: list[str], tmp_path: Path) -> None:
    container = Container(program=HOLDS)

    def passes(fails_after_s: float) -> bool:
        probe = probe_command(container, Probe(fails_after_s=fails_after_s), evidence_dir=str(tmp_path))
        return subprocess.run([*shell, *probe[1:]], check=False, timeout=20, capture_output=True).returncode == 0

    assert passes(0.0), "there is no life yet"
    with holding(shell, container, tmp_path):
        assert passes(1000.0)
        assert not passes(0.0)
        wait_until("the probe to fail", lambda: not passes(0.3), timeout_s=10, every_s=0.05)


def test_the_command_carries_the_script_without_its_comments() -> None:
    interpreter, flag, script, name, journal, on_term, *lives = command(
        Container(program=Program((Life(run_s=1.5, exit_code=1, times=3), Life(exit_code=0))), exit_code_on_term=0)
    )
    assert [interpreter, flag, name, journal, on_term] == ["/bin/sh", "-c", "program.sh", "/evidence/app.journal", "0"]
    assert lives == ["1.5:1:3", "0:0:1"]
    assert not any(line.startswith("#") for line in script.splitlines())
    assert "$$" not in script, "Kubernetes turns it into a single one"
