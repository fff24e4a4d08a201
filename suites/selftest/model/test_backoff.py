"""The delay before each restart, from the lives a container has had.

Starts that cannot succeed: the delay that is promised after them, and the one that kubelets make of them.
"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.model.backoff import Due, dues
from crashloop.model.config import Curve
from crashloop.model.lives import Lived, Observed, StartsBlocked
from crashloop.model.variants import DOCUMENTED, FAILED_STARTS_COUNT
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion
from suites.selftest.kit.model_inputs import DEFAULT, V1_34, V1_37, crashing, delays, judged


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
        Due(restart=1, delay_s=0, latest_s=2.5, reason="the counter is empty, so the restart is free"),
        Due(restart=2, delay_s=10, latest_s=12.5, reason="the counter says 10 s"),
    ]


def test_mode_release_and_neighbours_move_the_latest_moment_only() -> None:
    lives: list[Observed] = [Lived(0, 1), Lived(1, 2), Lived(12, 13)]
    for version, mode, others, latest in (
        (V1_37, Mode.NATURAL, False, [2, 16.15, 31.15]),
        (V1_37, Mode.NATURAL, True, [2.15, 16.15, 31.15]),
        (V1_37, Mode.ANNOTATED, False, [2.5, 12.5, 22.5]),
        (V1_34, Mode.NATURAL, False, [2, 26.15, 36.15]),
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


STOCK = Curve(initial_s=10.0, maximum_s=300.0)
FIRST = Lived(0.0, 15.0)
BLOCKED = StartsBlocked(8.0, 80.0)
"""From during the first life to 65 s after its exit."""


def due(*lives: Lived | StartsBlocked, deviations: frozenset[str] = DOCUMENTED) -> tuple[Due, ...]:
    return dues(STOCK, lives, version=KubernetesVersion(1, 37, 1), mode=Mode.NATURAL, deviations=deviations)


def windows(each: Due) -> list[tuple[float, float]]:
    return [(window.delay_s, round(window.latest_s, 3)) for window in each.windows]


def test_a_blocked_start_comes_with_the_next_retry_and_the_delay_stays() -> None:
    first, second = due(FIRST, BLOCKED, Lived(95.0, 96.0))
    assert windows(first) == [(0.0, 81.0)]
    assert windows(second) == [(10.0, 16.15)]


def test_every_failed_start_doubles_the_delay_of_a_kubelet() -> None:
    """The attempts after 0, 10, 20 and 40 s come before 65 s at the latest, and that after 80 s comes later at the soonest."""
    first, second = due(FIRST, BLOCKED, Lived(96.0, 97.0), deviations=frozenset({FAILED_STARTS_COUNT}))
    assert [delay_s for delay_s, _ in windows(first)] == [80.0]
    assert [delay_s for delay_s, _ in windows(second)] == [160.0]


def test_attempts_that_the_host_held_up_have_not_failed() -> None:
    held = StartsBlocked(8.0, 80.0, held_s=60.0)
    _, second = due(FIRST, held, Lived(96.0, 97.0), deviations=frozenset({FAILED_STARTS_COUNT}))
    assert {delay_s for delay_s, _ in windows(second)} >= {40.0, 80.0, 160.0}


def test_a_block_that_ends_before_the_delay_changes_nothing() -> None:
    crashed = (Lived(0.0, 1.0), Lived(1.0, 2.0))
    assert due(*crashed, StartsBlocked(3.0, 5.0)) == due(*crashed)


@pytest.mark.parametrize("deviations", [DOCUMENTED, frozenset({FAILED_STARTS_COUNT})])
def test_a_block_that_is_never_lifted_owes_no_restart(deviations: frozenset[str]) -> None:
    (first,) = due(FIRST, StartsBlocked(8.0, math.inf), deviations=deviations)
    assert first.latest_s == math.inf


def test_a_start_that_the_host_held_up_until_it_was_blocked_may_not_have_come() -> None:
    crashed = (Lived(0.0, 1.0), Lived(1.0, 2.0))
    after = due(*crashed, StartsBlocked(18.5, math.inf))
    assert after[-1].latest_s < 16.5
    held_up = due(*crashed, StartsBlocked(18.5, math.inf, late_s=4.0))
    assert held_up[-1].latest_s == math.inf


def test_a_start_under_way_when_starts_were_blocked_comes_and_the_next_does_not() -> None:
    again = Lived(15.2, 16.0)
    for lives in ((StartsBlocked(-0.5, math.inf), FIRST, again), (FIRST, StartsBlocked(15.1, math.inf), again)):
        assert due(*lives)[-1].latest_s == math.inf
