"""Distributions of lateness: what is called a change, and what is noise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.comparison.lateness import (
    MIN_CHANGE_S,
    MIN_DELAYS,
    Distribution,
    LatenessChange,
    Samples,
    compared,
    distribution,
    lateness_changes,
)
from crashloop.report.curves import DelayWindow, PlottedCurve, ReportedDelay
from crashloop.report.standing import Standing

CALM = [0.1, 0.3, 0.5, 0.7, 0.9, 0.2, 0.4, 0.6, 0.8, 1.0, 0.15, 0.35, 0.55, 0.75, 0.95, 0.45]

late_s = st.floats(min_value=0, max_value=30)
samples = st.lists(st.tuples(late_s, late_s), max_size=20)
enough = st.lists(st.tuples(late_s, late_s), min_size=MIN_DELAYS, max_size=20)


def late(*values: float, stalled_s: float = 0.0) -> Samples:
    return [(value, stalled_s) for value in values]


def curve(*delays: ReportedDelay, scenario: str = "crashing", mode: str = "natural") -> PlottedCurve:
    return PlottedCurve(
        scenario=scenario,
        container="app",
        profile="max-2s",
        mode=mode,
        standing=Standing.PASS,
        requirements=("CAP-3",),
        delays=delays,
    )


def delay(
    restart: int, due_s: float, created_s: float | None, *, alternatives: tuple[DelayWindow, ...] = ()
) -> ReportedDelay:
    return ReportedDelay(restart=restart, due_s=due_s, created_s=created_s, stalled_s=0.1, alternatives=alternatives)


def test_a_distribution_has_its_percentiles() -> None:
    assert distribution(late(1.0, 2.0, 3.0, 4.0, 5.0)) == Distribution(
        n=5, p50_s=3.0, p90_s=5.0, max_s=5.0, stalled_p50_s=0.0
    )
    assert distribution([]) == Distribution(n=0)


def test_a_shift_of_a_second_is_a_change() -> None:
    change = compared("crashing app", 2.0, late(*CALM), late(*(each + 1 for each in CALM)))
    assert (change.is_change, change.is_longer) == (True, True)
    assert change.difference_s == pytest.approx(1.0)
    assert change.low_s is not None
    assert 0 < change.low_s < 1 < (change.high_s or 0)


def test_a_shift_within_the_noise_is_none() -> None:
    """The difference exceeds the threshold, but so few delays that scatter so much do not show it."""
    change = compared("crashing app", 2.0, late(*CALM[:8]), late(*(each + 0.3 for each in CALM[:8])))
    assert change.is_compared
    assert change.difference_s == pytest.approx(0.3)
    assert (change.difference_s or 0) > (change.threshold_s or math.inf)
    assert not change.is_change


def test_a_certain_but_small_shift_is_none() -> None:
    """Delays that hardly scatter show 0.2 s for certain; nobody is to be alarmed by that."""
    change = compared("crashing app", 2.0, late(*[0.5] * 30), late(*[0.7] * 30))
    assert (change.low_s, change.high_s, change.threshold_s) == (0.2, 0.2, MIN_CHANGE_S)
    assert not change.is_change


def test_a_shift_no_larger_than_the_stalls_of_the_host_is_none() -> None:
    calm, stalled = late(*CALM), late(*(each + 1 for each in CALM), stalled_s=1.5)
    change = compared("crashing app", 2.0, calm, stalled)
    assert change.threshold_s == 1.5
    assert not change.is_change


def test_too_few_delays_are_shown_and_not_compared() -> None:
    change = compared("crashing app", 2.0, late(*CALM[: MIN_DELAYS - 1]), late(*CALM))
    assert (change.before.n, change.after.n) == (7, 16)
    assert not change.is_compared
    assert change.low_s is change.high_s is change.threshold_s is None


@given(before=enough)
def test_a_sample_never_differs_from_itself(before: Samples) -> None:
    change = compared("crashing app", 2.0, before, before)
    assert change.difference_s == 0
    assert not change.is_change
    assert (change.low_s or 0) <= 0 <= (change.high_s or 0)


@given(before=samples, after=samples)
def test_swapping_the_runs_flips_the_sign(before: Samples, after: Samples) -> None:
    forth, back = compared("crashing app", 2.0, before, after), compared("crashing app", 2.0, after, before)
    assert (forth.before, forth.after) == (back.after, back.before)
    assert forth.is_compared == back.is_compared
    if forth.is_compared:
        assert ends(forth) == pytest.approx([-each for each in reversed(ends(back))], abs=0.0011)
        assert forth.threshold_s == back.threshold_s


def ends(change: LatenessChange) -> list[float]:
    return [each for each in (change.low_s, change.difference_s, change.high_s) if each is not None]


def test_equal_kubelets_seldom_seem_to_differ() -> None:
    """The stated false alarm, on lateness as the kubelet's relist spreads it: at most 2 of 100 pairs."""
    generator = np.random.default_rng(4603)
    alarms = 0
    for _ in range(100):
        before, after = (generator.uniform(0, 1, 9) + generator.exponential(0.2, 9) for _ in range(2))
        alarms += compared("crashing app", 2.0, late(*before.tolist()), late(*after.tolist())).is_change
    assert alarms <= 2


def test_delays_are_compared_by_curve_and_due_delay_and_over_all_curves_of_a_mode() -> None:
    first = curve(delay(1, 0, 0.2), delay(2, 2, 2.5), delay(3, 2, 2.7))
    other = curve(delay(1, 0, 0.4), scenario="other")
    lonely = curve(delay(1, 0, 0.4), scenario="annotated", mode="annotated")
    only_before = curve(delay(1, 0, 9.0), scenario="only-before")
    changes = lateness_changes((first, other, lonely, only_before), (first, other, lonely))
    assert [(each.curve, each.due_s, each.before.n, each.after.n) for each in changes] == [
        ("annotated app", 0, 1, 1),
        ("crashing app", 0, 1, 1),
        ("crashing app", 2, 2, 2),
        ("only-before app", 0, 1, 0),
        ("other app", 0, 1, 1),
        ("all natural curves", 0, 2, 2),
        ("all natural curves", 2, 2, 2),
    ]


def test_a_delay_without_a_create_or_with_several_windows_has_no_lateness() -> None:
    unclear = delay(3, 2, 4.1, alternatives=(DelayWindow(due_s=4.0),))
    (change,) = lateness_changes((curve(delay(1, 2, None), delay(2, 2, 2.5), unclear),), ())
    assert (change.before.n, change.before.max_s) == (1, 0.5)
