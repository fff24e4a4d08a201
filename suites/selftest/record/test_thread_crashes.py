"""Threads that crash while something is recorded."""

import threading

import pytest

from crashloop.errors import UsageError
from crashloop.record.scenario_loop import ThreadCrashes


def crashed(*errors: Exception) -> ThreadCrashes:
    """After threads that raise these, one after the other."""

    def raise_it(error: Exception) -> None:
        raise error

    with ThreadCrashes() as crashes:
        for error in errors:
            thread = threading.Thread(target=raise_it, args=(error,))
            thread.start()
            thread.join()
    return crashes


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[BaseException | None]:
    """What the hook of before got."""
    seen: list[BaseException | None] = []
    monkeypatch.setattr(threading, "excepthook", lambda crash: seen.append(crash.exc_value))
    return seen


def test_the_first_crash_is_noted(printed: list[BaseException | None]) -> None:
    first = UsageError("credentials")
    assert crashed(first, UsageError("later")).first is first
    assert crashed().first is None
    assert printed == []


def test_a_fault_of_the_suite_is_printed_as_well(printed: list[BaseException | None]) -> None:
    fault = KeyError("x")
    assert crashed(fault).first is fault
    assert printed == [fault]


def test_afterwards_crashes_go_where_they_went_before(printed: list[BaseException | None]) -> None:
    before = threading.excepthook
    crashed()
    assert threading.excepthook is before
