"""The delay before each restart, from the lives a container has had."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.model.backoff import (
    ChangedPart,
    CounterLost,
    DeadContainerRemoved,
    Due,
    KeyChanged,
    Lived,
    Observed,
    StartAttemptFailed,
    dues,
)
from crashloop.model.config import Curve
from crashloop.model.variants import (
    CHANGED_CONTAINER_FORGETS,
    DOCUMENTED,
    FAILED_STARTS_COUNT,
    RESTART_ALL_STALLS,
    RESTART_ALL_WITHOUT_BACKOFF,
)
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion

V1_34, V1_35, V1_37 = (KubernetesVersion(1, minor) for minor in (34, 35, 37))
DEFAULT = Curve(10, 300)


def judged(lives: Sequence[Observed], curve: Curve = DEFAULT, deviations: frozenset[str] = DOCUMENTED) -> list[Due]:
    return list(dues(curve, lives, version=V1_37, mode=Mode.ANNOTATED, deviations=deviations))


def crashing(curve: Curve, runs_s: Sequence[float], late_s: float = 0.0) -> list[Lived]:
    """Lives of those lengths, each restarted `late_s` after its delay."""
    lives: list[Lived] = []
    start_s = 0.0
    for run_s in runs_s:
        lives.append(Lived(start_s, start_s + run_s))
        start_s += run_s + judged(lives, curve)[-1].delay_s + late_s
    return lives


def delays(lives: Sequence[Observed], curve: Curve = DEFAULT, deviations: frozenset[str] = DOCUMENTED) -> list[float]:
    return [due.delay_s for due in judged(lives, curve, deviations)]


@pytest.mark.parametrize(
    ("curve", "ladder"),
    [
        (Curve(10, 300), [0, 10, 20, 40, 80, 160, 300, 300]),
        (Curve(1, 300), [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300]),
        (Curve(1, 60), [0, 1, 2, 4, 8, 16, 32, 60, 60]),
        (Curve(10, 60), [0, 10, 20, 40, 60, 60]),
        (Curve(10, 11), [0, 10, 11, 11]),
        (Curve(10, 10), [0, 10, 10]),
        (Curve(2, 2), [0, 2, 2]),
        (Curve(1, 2), [0, 1, 2, 2]),
        (Curve(1, 1), [0, 1, 1]),
    ],
    ids=lambda each: f"{each.initial_s}-{each.maximum_s}" if isinstance(each, Curve) else "",
)
def test_delays_double_after_a_free_restart_up_to_the_maximum(curve: Curve, ladder: list[float]) -> None:
    assert delays(crashing(curve, [1] * len(ladder)), curve) == ladder
    assert [curve.delay_s(restart) for restart in range(1, len(ladder) + 1)] == ladder


def test_a_due_says_which_restart_until_when_and_why() -> None:
    assert judged([Lived(0, 1), Lived(1.5, 2)]) == [
        Due(restart=1, delay_s=0, latest_s=2, reason="the counter is empty, so the restart is free"),
        Due(restart=2, delay_s=10, latest_s=12, reason="the counter says 10 s"),
    ]


def test_mode_release_and_neighbours_move_the_latest_moment_only() -> None:
    lives: list[Observed] = [Lived(0, 1), Lived(1, 2), Lived(12, 13)]
    for version, mode, others, latest in (
        (V1_37, Mode.NATURAL, False, [2, 16, 31]),
        (V1_37, Mode.NATURAL, True, [2, 16, 31]),
        (V1_37, Mode.ANNOTATED, False, [2, 12, 22]),
        (V1_34, Mode.NATURAL, False, [2, 26, 36]),
    ):
        found = dues(DEFAULT, lives, version=version, mode=mode, other_sync_sources=others)
        assert [due.latest_s for due in found] == latest
        assert [due.delay_s for due in found] == [0, 10, 20]


def test_a_running_instance_has_no_due_yet() -> None:
    assert delays([Lived(0, 1), Lived(1, None)]) == [0]


def test_a_restart_that_came_too_early_does_not_falsify_those_after_it() -> None:
    assert delays([Lived(0, 1), Lived(1, 2), Lived(5, 6), Lived(7, 8)]) == [0, 10, 20, 40]


def test_times_that_run_backwards_are_refused() -> None:
    with pytest.raises(ValueError, match="a life begins after the one before has ended"):
        delays([Lived(0, 10), Lived(9, 12)])


def test_a_variant_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown deviation variants"):
        delays([Lived(0, 1)], deviations=frozenset({"no-such-variant"}))


def test_a_kubelet_that_starts_again_in_a_wait_starts_the_container_and_the_curve_anew() -> None:
    lives: list[Observed] = [*crashing(DEFAULT, [1, 1, 1, 1]), CounterLost(40), Lived(45, 46), Lived(57, 58)]
    found = judged(lives)
    assert [due.delay_s for due in found] == [0, 10, 20, 6, 10, 20]
    assert found[3].latest_s == 26


def test_a_kubelet_that_starts_again_while_the_container_runs_makes_the_next_restart_free() -> None:
    lives: list[Observed] = [Lived(0, 1), Lived(1, 2), Lived(12, 40), CounterLost(20), Lived(40.5, 41)]
    assert delays(lives) == [0, 10, 0, 10]


@pytest.mark.parametrize("part", ChangedPart)
def test_a_changed_container_keeps_its_counter_as_documented(part: ChangedPart) -> None:
    lives: list[Observed] = [Lived(0, 1), Lived(1, 2), Lived(12, 13), KeyChanged(18, part), Lived(33, 34)]
    assert delays(lives) == [0, 10, 20, 40]


@pytest.mark.parametrize("part", ChangedPart)
def test_a_changed_container_has_a_new_counter_in_the_kubelet(part: ChangedPart) -> None:
    lives: list[Observed] = [Lived(0, 1), Lived(1, 2), Lived(12, 13), KeyChanged(18, part), Lived(19, 20)]
    found = judged(lives, deviations=frozenset({CHANGED_CONTAINER_FORGETS}))
    assert [(due.delay_s, due.latest_s) for due in found] == [(0, 2), (10, 12), (5, 7), (10, 12)]


def test_a_kill_for_a_new_image_is_no_crash() -> None:
    lives: list[Observed] = [
        Lived(0, 1),
        Lived(1, 2),
        Lived(12, 20, True),
        KeyChanged(19, ChangedPart.IMAGE),
        Lived(20.5, 21),
    ]
    assert delays(lives) == [0, 10, 0, 20]
    assert delays(lives, deviations=frozenset({CHANGED_CONTAINER_FORGETS})) == [0, 10, 0, 10]


def test_the_first_crash_of_a_new_image_is_free_if_no_older_exit_is_known() -> None:
    lives: list[Observed] = [Lived(0, 20, True), KeyChanged(19, ChangedPart.IMAGE), Lived(20.5, 21)]
    assert delays(lives, deviations=frozenset({CHANGED_CONTAINER_FORGETS})) == [0, 0]


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
    assert [(due.delay_s, due.latest_s) for due in found] == [(0, 62), (10, 72), (20, 82)]


def test_restart_all_is_never_delayed_by_the_kubelet() -> None:
    lives: list[Observed] = [Lived(0, 1, restart_all=True), Lived(3, 4, restart_all=True), Lived(5, 6)]
    found = judged(lives, deviations=frozenset({RESTART_ALL_WITHOUT_BACKOFF}))
    assert [(due.delay_s, due.latest_s) for due in found] == [(0, 60), (0, 60), (0, 2)]


def test_restart_all_of_1_35_may_wait_for_the_next_resync() -> None:
    variant = frozenset({RESTART_ALL_WITHOUT_BACKOFF, RESTART_ALL_STALLS})
    (due,) = dues(DEFAULT, [Lived(0, 1, restart_all=True)], version=V1_35, mode=Mode.NATURAL, deviations=variant)
    assert due.latest_s == 151


def test_a_container_that_was_killed_with_the_others_owes_no_delay_and_keeps_its_counter() -> None:
    lives: list[Observed] = [Lived(0, 1), Lived(1, 2), Lived(12, 15, True, restart_all=True), Lived(40, 41)]
    found = judged(lives)
    assert [due.delay_s for due in found] == [0, 10, 0, 20]
    assert found[2].latest_s == float("inf")


CURVES = st.builds(
    lambda initial_s, factor: Curve(initial_s, initial_s * factor),
    st.floats(min_value=0.5, max_value=10),
    st.floats(min_value=1, max_value=30),
)
RUNS = st.lists(st.floats(min_value=0, max_value=280), min_size=1, max_size=14)


@given(curve=CURVES, runs_s=RUNS, late_s=st.floats(min_value=0, max_value=1))
def test_short_lives_climb_the_ladder_and_stay_at_its_top(curve: Curve, runs_s: list[float], late_s: float) -> None:
    found = delays(crashing(curve, runs_s, late_s), curve)
    assert found == [curve.delay_s(restart) for restart in range(1, len(runs_s) + 1)]
    assert found == sorted(found)
    assert all(curve.initial_s <= delay_s <= curve.maximum_s for delay_s in found[1:])


@given(
    curve=CURVES,
    runs_s=st.lists(st.floats(min_value=0, max_value=598) | st.floats(min_value=602, max_value=5000), min_size=1),
)
def test_only_a_run_of_more_than_ten_minutes_resets(curve: Curve, runs_s: list[float]) -> None:
    found = delays(crashing(curve, runs_s), curve)
    climbed = 0
    for run_s, delay_s in zip(runs_s, found, strict=True):
        climbed = 1 if run_s > 600 else climbed + 1
        assert delay_s == curve.delay_s(climbed)


@given(runs_s=RUNS, late_s=st.floats(min_value=0, max_value=2), extra=RUNS)
def test_later_lives_do_not_change_what_was_due_before(runs_s: list[float], late_s: float, extra: list[float]) -> None:
    lives = crashing(DEFAULT, [*runs_s, *extra], late_s)
    assert judged(lives)[: len(runs_s)] == judged(lives[: len(runs_s)])
