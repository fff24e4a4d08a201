"""Restart counts per curve and window: advertised, running and slowest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.model.config import Curve
from crashloop.model.restart_counts import advertised, delays_s, restart_moments_s, restarts_by, running, slowest_wait_s

WINDOWS_S = (10, 30, 70, 300, 600, 1800)
LONG_WINDOWS_S = WINDOWS_S[3:]

# fmt: off
TABLE = [
    # curve          advertised by 10/30/70 s, 5/10/30 m   lives of 10 s     slowest, 5/10/30 m
    (Curve(10, 300), (1, 2, 3, 4, 5, 9),                   (5, 6, 10),       (5, 6, 10)),
    (Curve(1, 300),  (3, 4, 6, 8, 9, 13),                  (8, 9, 13),       (8, 9, 13)),
    (Curve(1, 60),   (3, 4, 6, 9, 14, 34),                 (9, 13, 30),      (8, 12, 25)),
    (Curve(10, 60),  (1, 2, 3, 6, 11, 31),                 (6, 11, 28),      (5, 9, 22)),
    (Curve(10, 10),  (1, 3, 7, 30, 60, 180),               (15, 30, 90),     (17, 34, 100)),
    (Curve(2, 2),    (5, 15, 35, 150, 300, 900),           (25, 50, 150),    (50, 100, 300)),
    (Curve(1, 1),    (10, 30, 70, 300, 600, 1800),         (27, 54, 163),    (67, 133, 400)),
]
HYPOTHETICAL = [
    (Curve(.25, 60),   (5, 6, 8, 11, 16, 36)),
    (Curve(.25, 300),  (5, 6, 8, 10, 11, 15)),
    (Curve(.025, 300), (8, 10, 11, 13, 14, 18)),
]
# fmt: on


def slowest(curve: Curve, end_s: float) -> int:
    """The fewest restarts by then that are right."""
    return restarts_by(map(slowest_wait_s, delays_s(curve)), end_s)


def name(curve: Curve) -> str:
    return f"{curve.initial_s:g}-{curve.maximum_s:g}"


@pytest.mark.parametrize(("curve", "adv", "run_10", "floor"), TABLE, ids=[name(row[0]) for row in TABLE])
def test_the_counts_of_every_profile(
    curve: Curve, adv: tuple[int, ...], run_10: tuple[int, ...], floor: tuple[int, ...]
) -> None:
    assert tuple(advertised(curve, end_s) for end_s in WINDOWS_S) == adv
    assert tuple(running(curve, end_s) for end_s in LONG_WINDOWS_S) == run_10
    assert tuple(slowest(curve, end_s) for end_s in LONG_WINDOWS_S) == floor


@pytest.mark.parametrize(("curve", "adv"), HYPOTHETICAL, ids=[name(row[0]) for row in HYPOTHETICAL])
def test_curves_that_were_only_proposed(curve: Curve, adv: tuple[int, ...]) -> None:
    assert tuple(advertised(curve, end_s) for end_s in WINDOWS_S) == adv


def test_a_container_that_runs_10_s_restarts_5_times_in_5_minutes_and_10_times_in_30() -> None:
    assert running(Curve(10, 300), 300) == 5
    assert running(Curve(10, 300), 1800) == 10


def test_beyond_the_maximum_restarts_grow_by_one_each_maximum_and_run() -> None:
    moments = restart_moments_s(delays_s(Curve(10, 20)), run_s=30)
    first_nine = [next(moments) for _ in range(9)]
    assert first_nine == [30, 70, 120, 170, 220, 270, 320, 370, 420]


def test_a_step_of_569_s_after_the_first_31_s_equals_todays_count_in_10_minutes() -> None:
    assert restarts_by([1, 2, 4, 8, 16, 569], 600) == 6
    assert [*restart_moments_s([1, 2, 4, 8, 16, 569])][-1] == 600


def test_a_flat_delay_of_5_s_outruns_the_curve() -> None:
    assert restarts_by([5] * 100, 300, run_s=10) == 20
    assert running(Curve(10, 300), 300) == 5


def test_a_rapid_curve_is_below_a_flat_5_s_for_five_waits_and_above_it_from_the_sixth() -> None:
    waits = delays_s(Curve(0.25, 60), first=2)
    assert [next(waits) < 5 for _ in range(8)] == [True] * 5 + [False] * 3


def test_at_a_maximum_of_1_s_no_more_than_a_restart_a_second_is_possible() -> None:
    assert running(Curve(1, 1), 300, run_s=0) == 301


@pytest.mark.parametrize(
    ("initial_s", "by_70_s", "by_30_min"), [(0.025, 8, 9), (0.25, 5, 6), (1, 3, 4)], ids=["25ms", "250ms", "1s"]
)
def test_all_added_restarts_but_one_fall_into_the_first_70_s(initial_s: float, by_70_s: int, by_30_min: int) -> None:
    added = [advertised(Curve(initial_s, 300), end_s) - advertised(Curve(10, 300), end_s) for end_s in (70, 1800)]
    assert added == [by_70_s, by_30_min]


@given(
    initial_s=st.floats(min_value=0.5, max_value=10),
    factor=st.floats(min_value=1, max_value=30),
    end_s=st.floats(min_value=0, max_value=2000),
)
def test_the_slowest_is_never_faster_and_advertised_leaves_out_one(
    initial_s: float, factor: float, end_s: float
) -> None:
    curve = Curve(initial_s, initial_s * factor)
    assert slowest(curve, end_s) <= running(curve, end_s, run_s=0) == advertised(curve, end_s) + 1
