"""What the host is asked to start never exceeds what it can, restarts to come included."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.record.schedule import (
    AT_FIRST,
    BACK_OFF,
    CARRIED,
    CAUTION,
    FASTEST,
    LONG_CALL_S,
    LOOK_AGAIN_S,
    QUICK_CALL_S,
    RECOVERY,
    SLOWER,
    SLOWEST,
    STEP,
    WINDOW_S,
    StartBudget,
)
from crashloop.spec.plan import PROBE_STARTS, Work


def starts(*at_s: float) -> tuple[Work, ...]:
    return tuple(Work(each, 1.0) for each in at_s)


AT_ONCE = starts(0.0, 0.0)
LATER = starts(0.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0)
"""At 2 starts per second a window has room for 10."""


def test_a_launch_waits_until_the_burst_of_the_one_before_is_over() -> None:
    budget = StartBudget(2.0)
    budget.take("a", starts(0.0, 0.0, 0.4, 30.0), 0.0)
    assert not budget.is_open(1.4)
    assert budget.is_open(1.5)


def test_what_did_not_fit_is_tried_again_a_little_later() -> None:
    budget = StartBudget(2.0)
    budget.close(7.0)
    assert not budget.is_open(7.0)
    assert budget.is_open(7.0 + LOOK_AGAIN_S)


def test_restarts_that_are_due_later_take_the_room_of_a_launch() -> None:
    budget = StartBudget(2.0)
    budget.take("a", LATER, 0.0)
    assert budget.allows(LATER, 1.0) is False
    assert budget.allows(LATER, 6.0) is True, "its restarts come in a window of their own"
    assert budget.allows(AT_ONCE, 1.0) is True


def test_the_room_of_what_has_ended_is_free_but_for_what_it_started() -> None:
    budget = StartBudget(2.0)
    budget.take("a", starts(*(0.0,) * 7, *(6.0,) * 7), 0.0)
    budget.ended("a", 3.0)
    assert budget.allows(LATER, 0.0) is True
    assert budget.allows(starts(*(0.0,) * 4), 3.0) is False


def test_reserved_room_is_nobody_elses_until_it_is_cancelled() -> None:
    budget = StartBudget(2.0)
    budget.take("a", starts(*(0.0,) * 8), 0.0)
    budget.reserve("b", starts(*(0.0,) * 9), 1.0)
    assert budget.allows(starts(0.0, 5.0), 1.0) is True
    assert budget.allows(starts(0.0, 5.0, 5.0), 1.0) is False
    budget.cancel("b")
    assert budget.allows(starts(0.0, 5.0, 5.0), 1.0) is True


def test_a_launch_that_exceeds_a_window_by_itself_has_it_for_itself() -> None:
    budget = StartBudget(0.5)
    assert budget.allows(starts(*(0.0,) * 8), 0.0) is True
    budget.take("a", starts(*(0.0,) * 8), 0.0)
    assert budget.allows(starts(0.0), WINDOW_S - 1) is False
    assert budget.allows(starts(0.0), WINDOW_S) is True


def test_probes_by_a_command_take_less_room_than_starts() -> None:
    budget = StartBudget(2.0)
    budget.take("a", starts(*(0.0,) * 9), 0.0)
    assert budget.allows((Work(0.0, PROBE_STARTS),) * 2, 0.0) is True
    assert budget.allows((Work(0.0, PROBE_STARTS),) * 3, 0.0) is False


def test_the_pace_rises_only_where_cores_idle_while_a_launch_waits() -> None:
    budget = StartBudget(2.0)
    budget.adapt(0.9, 0.0)
    assert budget.starts_per_s == 2.0
    budget.close(0.0)
    budget.adapt(0.9, 0.0)
    assert budget.starts_per_s == 2.0 * STEP
    budget.adapt(0.9, 0.0)
    assert budget.starts_per_s == 2.0 * STEP, "nothing had to wait since"


def test_the_pace_falls_where_no_core_is_left_and_keeps_where_some_is() -> None:
    budget = StartBudget(2.0)
    budget.adapt(0.1, 0.0)
    assert budget.starts_per_s == 2.0
    budget.adapt(0.0, 0.0)
    assert budget.starts_per_s == 2.0 / STEP


def test_the_pace_falls_where_own_calls_take_long_whatever_the_cores_do_and_comes_back() -> None:
    budget = StartBudget(2.0)
    budget.close(0.0)
    budget.adapt(0.9, LONG_CALL_S)
    budget.adapt(None, LONG_CALL_S)
    assert budget.starts_per_s == pytest.approx(2.0 / BACK_OFF**2)
    budget.adapt(None, QUICK_CALL_S)
    assert budget.starts_per_s == pytest.approx(2.0 / BACK_OFF**2)
    budget.adapt(None, 0.1)
    assert budget.starts_per_s == pytest.approx(2.0 / BACK_OFF**2 * RECOVERY)


def test_a_run_begins_slowly_and_goes_faster_while_own_calls_are_quick() -> None:
    budget = StartBudget(2.0)
    budget.begin()
    assert budget.starts_per_s == 2.0 * AT_FIRST
    for _ in range(5):
        budget.adapt(0.0, 0.0)
    assert budget.starts_per_s >= 2.0 * SLOWER


def test_the_pace_comes_back_to_what_the_host_carried_and_then_with_caution_unless_cores_idle() -> None:
    budget = StartBudget(10.0)
    for _ in range(3):
        budget.adapt(0.0, LONG_CALL_S)
    while budget.starts_per_s < 10.0 * CARRIED:
        before_per_s = budget.starts_per_s
        budget.adapt(0.0, 0.1)
        assert budget.starts_per_s == pytest.approx(before_per_s * RECOVERY)
    before_per_s = budget.starts_per_s
    budget.adapt(0.0, 0.1)
    assert budget.starts_per_s == pytest.approx(before_per_s * CAUTION)
    budget.adapt(0.9, 0.1)
    assert budget.starts_per_s == pytest.approx(before_per_s * CAUTION * RECOVERY)


def test_where_no_core_is_left_the_pace_falls_little() -> None:
    budget = StartBudget(2.0)
    for _ in range(20):
        budget.adapt(0.0, 0.0)
    assert budget.starts_per_s >= 2.0 * SLOWER / STEP


@given(st.lists(st.tuples(st.none() | st.floats(0, 1), st.floats(0, 60))))
def test_the_pace_stays_within_its_bounds(seen: list[tuple[float | None, float]]) -> None:
    budget = StartBudget(4.0)
    for idle_share, call_s in seen:
        budget.close(0.0)
        budget.adapt(idle_share, call_s)
    assert 4.0 * SLOWEST <= budget.starts_per_s <= 4.0 * FASTEST


def test_a_window_that_was_freed_of_fractions_is_free() -> None:
    budget = StartBudget(2.0)
    budget.reserve("a", (Work(0.0, PROBE_STARTS),) * 7, 0.0)
    budget.cancel("a")
    assert budget.allows(starts(*(0.0,) * 30), 0.0) is True


@given(st.lists(st.lists(st.floats(0, 60), min_size=1, max_size=20).map(tuple), min_size=1, max_size=10))
def test_room_is_found_for_everything(launches: list[tuple[float, ...]]) -> None:
    budget = StartBudget(1.0)
    for number, starts_s in enumerate(launches):
        budget.reserve(f"launch-{number}", starts(*starts_s), 0.0)
