"""A short-lived command ends, one way or another, and a failure says what to look at.

The niceness of a recording, set by processes of their own.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from crashloop.cluster.processes import STATE_MARK, CommandFailed, marked_processes, run
from crashloop.errors import PrerequisiteError
from crashloop.processors import NICENESS, go_first, weight
from crashloop.waiting import wait_until
from suites.selftest.kit.pids import has_ended


def test_the_standard_output_comes_back_and_the_error_output_does_not() -> None:
    assert run(["sh", "-c", "echo out; echo err >&2"], describe="echo", timeout_s=60) == "out\n"


def test_input_folder_and_environment_reach_the_command(tmp_path: Path) -> None:
    command = ["sh", "-c", "cat; pwd; echo $WORD"]
    output = run(command, describe="cat", timeout_s=60, cwd=tmp_path, env={"WORD": "given"}, input="typed\n")
    assert output == f"typed\n{tmp_path}\ngiven\n"


def test_a_failure_names_command_exit_code_and_last_lines() -> None:
    command = ["sh", "-c", "seq 30; echo broken >&2; exit 3"]
    with pytest.raises(CommandFailed) as caught:
        run(command, describe="count", timeout_s=60)
    assert caught.value.exit_code == 3
    assert str(caught.value).splitlines() == [
        "count: `sh -c 'seq 30; echo broken >&2; exit 3'` ended with exit code 3, expected exit code 0.",
        "Its last lines:",
        *(f"  {number}" for number in range(12, 31)),
        "  broken",
    ]


def test_a_silent_failure_says_so() -> None:
    with pytest.raises(CommandFailed, match=r"ended with exit code 1, expected exit code 0\.\nIt printed nothing\.$"):
        run(["false"], describe="nothing", timeout_s=60)


def test_a_command_that_a_signal_ended_says_which() -> None:
    with pytest.raises(CommandFailed, match=r"was ended by signal 9 \(Killed\)") as caught:
        run(["sh", "-c", "kill -9 $$"], describe="suicide", timeout_s=60)
    assert caught.value.exit_code == -9


def test_a_program_that_is_missing_is_the_hosts_fault() -> None:
    with pytest.raises(PrerequisiteError) as caught:
        run(["/no/such/program"], describe="nothing", timeout_s=60)
    assert str(caught.value) == "nothing: /no/such/program cannot be started (No such file or directory)."


def test_a_command_that_takes_too_long_goes_with_all_it_started(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match=r"did not end within 0\.5 s\.") as caught:
        run(["sh", "-c", "sleep 1000 & wait"], describe="sleep", timeout_s=0.5, env={STATE_MARK: str(tmp_path)})
    assert caught.value.exit_code is None
    wait_until("all of it to end", lambda: not marked_processes(tmp_path), timeout_s=60)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGUSR1 interrupts as Ctrl-C does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_wait_leaves_no_command_behind(tmp_path: Path) -> None:
    # reading the input to its end proves that the wait has begun
    script = f"cat; echo $$ >'{tmp_path}/pid'; kill -USR1 {os.getpid()}; exec sleep 1000"
    with pytest.raises(KeyboardInterrupt):
        run(["sh", "-c", script], describe="sleep", timeout_s=100, input="")
    pid = int((tmp_path / "pid").read_text())
    wait_until("it to end", lambda: has_ended(pid), timeout_s=60)


_SCRIPT = """
import os, subprocess, sys
from pathlib import Path
from crashloop.processors import go_first, hand_on, weight
os.nice(int(sys.argv[1]))
go_first()
child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True)
hand_on(child.pid)
groups = [Path(f"/proc/{pid}/autogroup") for pid in ("self", child.pid)]
sessions = [each.read_text().split()[-1] for each in groups if each.exists()]
print(os.getpriority(os.PRIO_PROCESS, 0), os.getpriority(os.PRIO_PROCESS, child.pid), *sessions, round(weight(), 2))
child.communicate()
"""
_CAP_SYS_NICE = 1 << 23


def _may_go_first() -> bool:
    status = Path("/proc/self/status").read_text()
    return bool(int(status.partition("CapEff:")[2].split()[0], 16) & _CAP_SYS_NICE)


def _after(niceness: int) -> list[str]:
    """A process that wants to go first: its niceness and that of its child, the same of their sessions, and its weight."""
    script = [sys.executable, "-c", _SCRIPT, str(niceness)]
    return subprocess.check_output(script, text=True, start_new_session=True, cwd=Path(__file__).parents[3]).split()


@pytest.mark.skipif(
    not _may_go_first() or os.getpriority(os.PRIO_PROCESS, 0) != 0, reason="needs CAP_SYS_NICE and niceness 0"
)
def test_a_recording_and_what_it_starts_go_before_other_work() -> None:
    *niceness, weight_of_it = _after(0)
    assert set(niceness) == {str(NICENESS)}
    assert weight_of_it == "9.31"


def test_a_niceness_that_somebody_has_chosen_stays() -> None:
    chosen = min(19, os.getpriority(os.PRIO_PROCESS, 0) + 3)
    assert set(_after(3)[:-1]) == {str(chosen)}


def test_without_permission_the_niceness_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "getpriority", lambda *_: 0)
    monkeypatch.setattr(os, "setpriority", refused)
    go_first()
    assert weight() == 1.0
