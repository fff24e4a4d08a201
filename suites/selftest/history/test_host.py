"""What a recording shows of its host: as far as it overlaps, capped by the interval, the better evidence before the worse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.history.api_controls import API_FACTOR, STATUSES_AHEAD
from crashloop.history.host import PRESSURE_AT_MOST_S, SYNC_WAITS_AT_MOST_S, HostRecord

MS, S = 1_000_000, 1_000_000_000


def test_stalls_count_as_far_as_they_overlap() -> None:
    host = HostRecord()
    host.add_stall(10 * S, 2 * S)
    host.add_stall(20 * S, 1 * S)
    assert host.held_s(0, 30 * S) == 3.0
    assert host.held_s(11 * S, 20 * S) == 1.0
    assert host.held_s(13 * S, 19 * S) == 0.0
    assert host.held_s(20 * S, 20 * S + S // 2) == 0.5


def test_what_was_counted_in_a_second_may_all_have_been_at_its_edge_but_not_beyond() -> None:
    host = HostRecord()
    host.add_wait(10 * S, 400_000)
    assert host.held_s(0, 20 * S) == 0.4
    assert host.held_s(9 * S + S // 2, 20 * S) == 0.4
    assert host.held_s(9 * S + 9 * S // 10, 20 * S) == pytest.approx(0.1)
    assert host.held_s(10 * S, 20 * S) == 0.0


def test_a_wait_that_is_counted_when_it_is_over_reaches_back() -> None:
    host = HostRecord()
    host.add_wait(10 * S, 3_000_000)
    assert host.held_s(7 * S, 10 * S) == 3.0
    assert host.held_s(7 * S, 8 * S) == 1.0


def test_pressure_of_the_whole_system_counts_for_no_more_than_a_bound_and_than_what_the_accused_waited() -> None:
    host = HostRecord()
    for beat in range(20):
        host.add_pressure(beat * S, 700_000)
    assert host.held_s(2 * S, 4 * S) == pytest.approx(1.4)
    assert host.held_s(2 * S, 18 * S) == PRESSURE_AT_MOST_S
    assert not host.held(2 * S, 4 * S).is_named
    host.add_wait(3 * S, 10_000)
    assert host.held(2 * S, 4 * S).is_named
    assert host.held_s(2 * S, 4 * S) == pytest.approx(0.01)


def test_what_all_threads_waited_together_is_bounded_by_the_pressure_of_the_whole_system() -> None:
    host = HostRecord()
    for beat in range(20):
        host.add_pressure(beat * S, 100_000)
        host.add_wait(beat * S, 900_000)
    assert host.held_s(2 * S, 12 * S) == pytest.approx(1.0)
    assert host.held(2 * S, 12 * S).summed_s == pytest.approx(9.0)


def controlled(*slow_s: float, create_s: float = 2.0) -> HostRecord:
    """A minute in which all threads wait, with a control of 60 ms every two seconds but for those that end at these seconds."""
    host = HostRecord()
    for second in range(60):
        host.add_wait(second * S, 950_000)
        if second % 2 == 0:
            host.add_control(second * S, round((create_s if second in slow_s else 0.05) * S), S // 100)
    return host


def test_pressure_of_disk_and_memory_counts_only_where_no_control_container_speaks() -> None:
    host = controlled()
    host.add_pressure(10 * S, 0, blocked_us=600_000)
    host.add_pressure(70 * S, 0, blocked_us=600_000)
    assert host.held(5 * S, 15 * S).blocked_s == 0.0
    assert host.held(65 * S, 75 * S).blocked_s == pytest.approx(0.6)


def test_quick_controls_leave_to_a_sync_of_the_kubelet_what_it_may_have_waited_alone() -> None:
    host = controlled()
    assert host.held(10 * S, 30 * S).control_s == 0.0
    assert host.held_s(10 * S, 30 * S) == SYNC_WAITS_AT_MOST_S
    assert host.held(10 * S, 30 * S).repeated_s == 0.0


def test_a_slow_control_shows_a_stall_since_the_quick_one_before_it_and_no_other() -> None:
    host = controlled(20)
    assert host.held(10 * S, 30 * S).control_s == pytest.approx(2.0)
    assert host.held(19 * S, 30 * S).control_s == pytest.approx(1.0)
    assert host.held(20 * S, 30 * S).control_s == 0.0
    assert host.held(10 * S, 18 * S).control_s == 0.0


def test_where_a_quarter_of_the_controls_is_slow_the_host_is_slow_at_any_moment() -> None:
    slow = range(0, 60, 6)
    assert controlled(*slow).held(21 * S, 22 * S).control_s == pytest.approx(2 * (2.0 + 2 * 0.01 - 0.15))
    assert controlled(*list(slow)[::2]).held(21 * S, 22 * S).control_s == 0.0


def test_the_kubelets_own_work_takes_as_many_times_as_long_as_controls_do_and_never_again_and_again() -> None:
    slow = range(0, 60, 6)
    held = controlled(*slow, create_s=0.28).held(21 * S, 31 * S)
    assert held.slower_s == pytest.approx((0.3 / 0.06 - 1) / 2)
    assert held.total_s == held.but_cpu_s + held.slower_s
    assert held.repeated_s == held.but_cpu_s
    quick = controlled(*list(slow)[::2], create_s=0.28).held(21 * S, 31 * S)
    assert quick.slower_s == pytest.approx((0.07 / 0.06 - 1) / 2)


def test_after_the_last_control_nobody_refutes_the_run_queues() -> None:
    assert controlled().held_s(58 * S, 59 * S) == pytest.approx(0.95)
    assert controlled().held(56 * S, 59 * S).waited_s == pytest.approx(SYNC_WAITS_AT_MOST_S + 1.0)


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5_000_000), st.integers(0, 5_000_000)), max_size=20),
    st.integers(0, 60 * S),
    st.integers(0, 60 * S),
)
def test_nothing_holds_up_for_longer_than_the_interval(
    counted: list[tuple[int, int, int]], one_ns: int, other_ns: int
) -> None:
    host = HostRecord()
    for at_s, waited_us, stalled_us in sorted(counted):
        host.add_wait(at_s * S, waited_us, stalled_us)
        host.add_pressure(at_s * S, waited_us, blocked_us=stalled_us)
    from_ns, to_ns = min(one_ns, other_ns), max(one_ns, other_ns)
    held = host.held(from_ns, to_ns)
    assert 0 <= held.of_the_accused_s <= held.total_s <= (to_ns - from_ns) / 1e9
    assert held.but_cpu_s <= held.repeated_s <= held.total_s
    assert 0 <= host.kubelet_held_s(from_ns, to_ns) <= (to_ns - from_ns) / 1e9


def patched(*slow_s: int) -> HostRecord:
    """A minute in which a patch of the recorder takes 30 ms, but for those that come at these seconds, which take 2 s."""
    host = HostRecord()
    for second in range(60):
        host.add_api_control(second * S, 2 * S if second in slow_s else 3 * S // 100)
    return host


def test_quick_patches_bound_what_the_api_server_may_have_held_up() -> None:
    assert patched().api_held_ns(10 * S, 20 * S) == API_FACTOR * 3 * S // 100


def test_a_slow_patch_excuses_its_own_time_only() -> None:
    assert patched(20).api_held_ns(19 * S, 22 * S) == API_FACTOR * 2 * S
    assert patched(20).api_held_ns(30 * S, 33 * S) == API_FACTOR * 3 * S // 100


def test_where_a_quarter_of_the_patches_is_slow_all_of_that_time_counts_and_the_statuses_that_wait_after_it() -> None:
    waiting_ns = STATUSES_AHEAD * API_FACTOR * 2 * S
    assert patched(*range(0, 60, 3)).api_held_ns(30 * S, 50 * S) == 20 * S + waiting_ns


def test_where_no_patch_comes_back_all_of_that_time_counts() -> None:
    assert (patched().api_held_ns(70 * S, 500 * S) or 0) > 430 * S


def test_a_recording_without_patches_says_nothing_of_the_api_server() -> None:
    assert HostRecord().api_held_ns(0, S) is None


def test_what_the_kubelet_states_is_held_up_by_its_own_waits_only() -> None:
    host = HostRecord()
    for at_s in range(1, 11):
        host.add_wait(at_s * S, 900_000, 200_000)
    assert host.held_s(0, 10 * S) == 9.0
    assert host.kubelet_held_s(0, 10 * S) == 2.0


@given(st.integers(-(2**62), 2**62), st.integers(-(2**62), 2**62))
def test_figures_beyond_reason_neither_fail_nor_excuse_for_more_than_a_day(waited_us: int, interval_ns: int) -> None:
    host = HostRecord()
    host.add_wait(0, waited_us, interval_ns=interval_ns)
    host.add_control(0, waited_us, interval_ns)
    assert 0 <= host.held_s(-(10**18), 10**18) <= 10 * 86_400


REPORTS = st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 3_000), st.integers(0, 3_000)), max_size=30)


@given(reports=REPORTS, from_ms=st.integers(-2_000, 40_000), length_ms=st.integers(0, 40_000))
def test_waits_within_a_time_are_the_sum_of_what_each_report_may_have_in_it(
    reports: list[tuple[int, int, int]], from_ms: int, length_ms: int
) -> None:
    host, ended_ms, due_ms, to_ms = HostRecord(), 0, 0, from_ms + length_ms
    for after_ms, interval_ms, waited_ms in reports:
        ended_ms += after_ms
        host.add_wait(ended_ms * MS, waited_ms * 1_000, interval_ns=interval_ms * MS)
        began_ms = ended_ms - max(interval_ms, waited_ms)
        due_ms += max(0, min(waited_ms, min(ended_ms, to_ms) - max(began_ms, from_ms)))
    assert (host.held(from_ms * MS, to_ms * MS).summed_s or 0.0) == due_ms / 1_000
