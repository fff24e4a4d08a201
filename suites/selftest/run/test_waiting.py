"""A wait ends when its condition is true, and names it when time is up."""

from itertools import chain, repeat
from types import SimpleNamespace

import pytest

from crashloop import waiting
from crashloop.waiting import WaitTimeout, wait_until


@pytest.mark.parametrize("not_yet", [None, False, 0, "", ()])
def test_an_answer_that_is_false_or_empty_does_not_end_a_wait(not_yet: object) -> None:
    answers = chain([not_yet, not_yet], repeat("it"))
    assert wait_until("it to come", lambda: next(answers), timeout_s=30, every_s=0.0) == "it"


def test_a_wait_in_vain_names_its_condition_and_the_last_sight() -> None:
    with pytest.raises(WaitTimeout) as caught:
        wait_until("it to come", lambda: 0, timeout_s=0, last_seen=lambda: "an empty hall")
    assert str(caught.value) == "waited 0 s for: it to come.\nLast seen: an empty hall"


def test_an_error_that_may_pass_is_what_was_seen_last() -> None:
    def refused() -> bool:
        raise ConnectionRefusedError("nobody listens")

    with pytest.raises(WaitTimeout) as caught:
        wait_until("it to come", refused, timeout_s=0, not_yet=OSError, last_seen=lambda: "an empty hall")
    assert str(caught.value) == "waited 0 s for: it to come.\nLast seen: nobody listens"


def test_an_error_that_has_passed_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(monotonic=chain([0.0, 1.0, 1.0], repeat(9.0)).__next__, sleep=lambda _: None)
    monkeypatch.setattr(waiting, "time", clock)
    errors = [ConnectionRefusedError("nobody listens")]

    def look() -> bool:
        if errors:
            raise errors.pop()
        return False

    with pytest.raises(WaitTimeout, match="Last seen: an empty hall"):
        wait_until("it to come", look, timeout_s=5, not_yet=OSError, last_seen=lambda: "an empty hall")
    assert not errors


def test_an_error_of_the_probe_ends_the_wait() -> None:
    def gone() -> bool:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        wait_until("it to come", gone, timeout_s=30)
