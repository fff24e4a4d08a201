"""The delay before each restart, from the lives a container has had."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.model.backoff import Due, dues
from crashloop.model.config import Curve
from crashloop.model.lives import Lived, Observed
from crashloop.spec.scenario import Mode
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
