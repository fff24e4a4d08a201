"""The niceness of a recording, set by processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crashloop.processors import NICENESS, go_first, weight

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
