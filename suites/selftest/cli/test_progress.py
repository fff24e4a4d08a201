"""Progress names the step and the time that it has taken."""

import io
import re

import pytest
from rich.console import Console

from crashloop import progress
from crashloop.progress import ConsoleProgress
from crashloop.waiting import wait_until


def test_a_step_is_announced_and_its_end_has_a_duration() -> None:
    output = io.StringIO()
    with ConsoleProgress(Console(file=output)).step("building [kubelet]"):
        assert output.getvalue() == "building [kubelet] ...\n"
    assert re.fullmatch(r"building \[kubelet\]: \d+\.\d s", output.getvalue().splitlines()[1])


def test_a_step_that_takes_long_says_so_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "REMIND_EVERY_S", 0.01)
    output = io.StringIO()
    with ConsoleProgress(Console(file=output)).step("building"):
        wait_until("a reminder", lambda: re.search(r"building: \d+ s so far\n", output.getvalue()), timeout_s=60)


def test_a_step_that_fails_is_not_reported_as_ended() -> None:
    output = io.StringIO()
    with pytest.raises(OSError, match="disk"), ConsoleProgress(Console(file=output)).step("building"):
        raise OSError("disk")
    assert output.getvalue() == "building ...\n"


def test_a_terminal_shows_steps_within_steps() -> None:
    output = io.StringIO()
    shown = ConsoleProgress(Console(file=output, force_terminal=True, width=80, highlight=False))
    with shown.step("outer"), shown.step("inner"):
        pass
    assert re.search(r"inner: \d+\.\d s\n(.|\n)*outer: \d+\.\d s\n$", output.getvalue())
