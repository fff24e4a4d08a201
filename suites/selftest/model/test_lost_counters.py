"""What else than exits and restarts changes a counter."""

import pytest

from crashloop.model.backoff import dues
from crashloop.model.config import Curve, InForce
from crashloop.model.lives import (
    ChangedPart,
    CounterLost,
    DeadContainerRemoved,
    KeyChanged,
    Lived,
    Observed,
    StartAttemptFailed,
)
from crashloop.model.variants import (
    FAILED_STARTS_COUNT,
    RESTART_ALL_STALLS,
    RESTART_ALL_WITHOUT_BACKOFF,
)
from crashloop.spec.scenario import Mode
from suites.selftest.kit.model_inputs import DEFAULT, V1_34, V1_35, V1_37, crashing, delays, judged


def test_a_kubelet_that_starts_again_in_a_wait_starts_the_container_and_the_curve_anew() -> None:
    lives: list[Observed] = [*crashing(DEFAULT, [1, 1, 1, 1]), CounterLost(40), Lived(45, 46), Lived(57, 58)]
    found = judged(lives)
    assert [due.delay_s for due in found] == [0, 10, 20, 6, 10, 20]
    assert found[3].latest_s == 26


def test_a_kubelet_that_starts_again_while_the_container_runs_makes_the_next_restart_free() -> None:
    lives: list[Observed] = [Lived(0, 1), Lived(1, 2), Lived(12, 40), CounterLost(20), Lived(40.5, 41)]
    assert delays(lives) == [0, 10, 0, 10]


@pytest.mark.parametrize(("late_s", "delays_after"), [(0.0, {10}), (2.0, {0, 10})])
def test_a_start_that_was_seen_late_may_be_that_of_the_kubelet_before(late_s: float, delays_after: set[float]) -> None:
    """It is due at 12 s, the kubelet starts again at 15 s, and the container is seen from 16 s on."""
    lives: list[Observed] = [
        Lived(0, 1),
        Lived(1, 2),
        CounterLost(15),
        Lived(16, 17, created_late_s=late_s),
        Lived(30, 31),
    ]
    assert {each.delay_s for each in judged(lives)[2].windows} == delays_after


@pytest.mark.parametrize("part", ChangedPart)
def test_a_changed_container_has_a_new_counter(part: ChangedPart) -> None:
    lives: list[Observed] = [Lived(0, 1), Lived(1, 2), Lived(12, 13), KeyChanged(18, part), Lived(19, 20)]
    found = judged(lives)
    assert [(due.delay_s, due.latest_s) for due in found] == [(0, 2.5), (10, 12.5), (5, 7.5), (10, 12.5)]


def test_a_kill_for_a_new_image_is_no_crash() -> None:
    lives: list[Observed] = [
        Lived(0, 1),
        Lived(1, 2),
        Lived(12, 20, True),
        KeyChanged(19, ChangedPart.IMAGE),
        Lived(20.5, 21),
    ]
    assert delays(lives) == [0, 10, 0, 10]


def test_the_first_crash_of_a_new_image_is_free_if_no_older_exit_is_known() -> None:
    lives: list[Observed] = [Lived(0, 20, True), KeyChanged(19, ChangedPart.IMAGE), Lived(20.5, 21)]
    assert delays(lives) == [0, 0]


def test_without_a_known_exit_no_delay_is_due_and_none_is_counted() -> None:
    lives: list[Observed] = [Lived(0, 1), Lived(1, 2), Lived(12, 13), DeadContainerRemoved(16), Lived(17, 18)]
    assert delays(lives) == [0, 10, 3, 20]


def test_failed_start_attempts_do_not_count_as_documented() -> None:
    lives: list[Observed] = [Lived(0, 1), Lived(1, 2), StartAttemptFailed(13), Lived(25, 26)]
    found = judged(lives)
    assert [due.delay_s for due in found] == [0, 10, 20]
    assert found[1].latest_s == 27


def test_each_failed_start_attempt_doubles_the_delay_in_the_kubelet() -> None:
    lives: list[Observed] = [Lived(0, 1), Lived(1, 2), StartAttemptFailed(13), StartAttemptFailed(23), Lived(43, 44)]
    found = judged(lives, deviations=frozenset({FAILED_STARTS_COUNT}))
    assert [due.delay_s for due in found] == [0, 40, 80]


def test_restart_all_is_delayed_like_any_restart_as_documented() -> None:
    lives: list[Observed] = [
        Lived(0, 1, restart_all=True),
        Lived(3, 4, restart_all=True),
        Lived(15, 16, restart_all=True),
    ]
    found = judged(lives)
    assert [(due.delay_s, due.latest_s) for due in found] == [(0, 62.5), (10, 72.5), (20, 82.5)]


def test_restart_all_is_never_delayed_by_the_kubelet() -> None:
    lives: list[Observed] = [Lived(0, 1, restart_all=True), Lived(3, 4, restart_all=True), Lived(5, 6)]
    found = judged(lives, deviations=frozenset({RESTART_ALL_WITHOUT_BACKOFF}))
    assert [(due.delay_s, due.latest_s) for due in found] == [(0, 60), (0, 60), (0, 2.5)]


def test_restart_all_of_1_35_may_wait_for_the_next_resync() -> None:
    variant = frozenset({RESTART_ALL_WITHOUT_BACKOFF, RESTART_ALL_STALLS})
    (due,) = dues(DEFAULT, [Lived(0, 1, restart_all=True)], version=V1_35, mode=Mode.NATURAL, deviations=variant)
    assert due.latest_s == 151


def test_a_container_that_was_killed_with_the_others_owes_no_delay_and_keeps_its_counter() -> None:
    lives: list[Observed] = [Lived(0, 1), Lived(1, 2), Lived(12, 15, True, restart_all=True), Lived(40, 41)]
    found = judged(lives)
    assert [due.delay_s for due in found] == [0, 10, 0, 20]
    assert found[2].latest_s == float("inf")


def test_a_kubelet_that_starts_again_in_a_restart_all_knows_of_no_exit_to_count() -> None:
    lives: list[Observed] = [Lived(0, 1, restart_all=True), CounterLost(2), Lived(10, 11), Lived(12, 13), Lived(24, 25)]
    found = judged(lives, deviations=frozenset({RESTART_ALL_WITHOUT_BACKOFF}))
    assert [due.delay_s for due in found] == [0, 0, 10, 20]
    assert found[0].latest_s == 60


def test_a_kubelet_that_starts_again_with_another_configuration_begins_its_own_curve() -> None:
    two_s = InForce(profile="max-2s", curve=Curve(2, 2), gates={}, version=V1_37)
    stock = InForce(profile="stock", curve=DEFAULT, gates={}, version=V1_37)
    in_a_wait: list[Observed] = [*crashing(DEFAULT, [1, 1, 1]), CounterLost(20, two_s), Lived(21, 22), Lived(24.1, 25)]
    assert delays(in_a_wait) == [0, 10, 7, 2, 2]
    while_it_runs: list[Observed] = [Lived(0, 1), Lived(1, 2), Lived(12, 30), CounterLost(20, two_s), Lived(30, 31)]
    assert delays(while_it_runs) == [0, 10, 0, 2]
    back: list[Observed] = [*in_a_wait, CounterLost(26, stock), Lived(26.5, 27), Lived(37.1, 38), Lived(58.1, 59)]
    assert delays(back) == [0, 10, 7, 2, 1, 10, 20, 40]


def test_a_kubelet_of_another_release_is_late_by_its_own_polls() -> None:
    polling = InForce(profile="old", curve=DEFAULT, gates={}, version=V1_34)
    lives: list[Observed] = [Lived(0, 1), Lived(1, 30), CounterLost(20, polling), Lived(30, 31)]
    found = dues(DEFAULT, lives, version=V1_37, mode=Mode.NATURAL)
    assert [(due.delay_s, due.latest_s) for due in found] == [(0, 2), (0, 10), (10, 26.15)]


def test_a_new_image_before_the_exit_is_noticed_replaces_the_container_as_if_it_ran() -> None:
    lives: list[Observed] = [Lived(0, 1), KeyChanged(2, ChangedPart.IMAGE), Lived(4, 5), Lived(6, 7)]
    found = judged(lives)
    assert [due.delay_s for due in found] == [0, 0, 10]
    assert {each.delay_s for each in found[1].windows} == {0, 10}


def test_a_new_image_long_after_the_exit_leaves_nothing_open() -> None:
    lives: list[Observed] = [Lived(0, 1), Lived(1, 2), KeyChanged(5, ChangedPart.IMAGE), Lived(6, 7)]
    found = judged(lives)
    assert [[each.delay_s for each in due.windows] for due in found] == [[0], [3], [10]]


def test_an_exit_right_after_the_kubelet_has_started_waits_for_its_first_look() -> None:
    found = judged([Lived(0, 1), Lived(1, 40), CounterLost(37), Lived(41, 90)])
    assert [(due.delay_s, due.latest_s) for due in found] == [(0, 2.5), (0, 17), (10, 12.5)]


def test_an_exit_that_the_host_hid_until_the_image_changed_is_taken_for_a_kill() -> None:
    def delays_after(late_s: float) -> list[float]:
        changed = KeyChanged(5.5, ChangedPart.IMAGE, late_s)
        return [each.delay_s for each in judged([Lived(0, 1), Lived(1, 2), changed, Lived(9, 10)])[1].windows]

    assert 0.0 not in delays_after(late_s=0.0)
    assert 0.0 in delays_after(late_s=2.0)


def test_a_restart_that_the_host_held_up_until_a_change_was_known_may_have_come_before_it() -> None:
    def soonest(late_s: float) -> float:
        lives: list[Observed] = [Lived(0, 1), KeyChanged(6), Lived(7, 9, created_late_s=late_s), Lived(9.2, 10)]
        return judged(lives)[1].delay_s

    assert soonest(late_s=0.0) == 10
    assert soonest(late_s=5.0) == 0
