"""When a long run starts the curve over: as documented, and as the kubelet collects its counters."""

import pytest

from crashloop.model.backoff import Due, dues
from crashloop.model.config import Curve
from crashloop.model.lives import Lived
from crashloop.model.variants import COUNTER_COLLECTED, DOCUMENTED
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion

V1_34, V1_37 = KubernetesVersion(1, 34), KubernetesVersion(1, 37)
SHIPPED = frozenset({COUNTER_COLLECTED})
CURVE_20S = Curve(10, 20)


def at_the_cap(curve: Curve, run_s: float) -> list[Lived]:
    """Lives of 1 s up to the cap, then one of `run_s` whose exit is the last."""
    lives, start_s = [], 0.0
    restart = 1
    while curve.delay_s(restart) < curve.maximum_s:
        lives.append(Lived(start_s, start_s + 1))
        start_s += 1 + curve.delay_s(restart)
        restart += 1
    return [*lives, Lived(start_s, start_s + run_s)]


def after_long_run(
    curve: Curve,
    run_s: float,
    deviations: frozenset[str],
    waited_s: float | None = None,
    *,
    mode: Mode = Mode.ANNOTATED,
    version: KubernetesVersion = V1_37,
) -> tuple[Due, ...]:
    """What is due after a run of `run_s` at the cap and, if it `waited_s` then, after one more crash."""
    lives = at_the_cap(curve, run_s)
    if waited_s is not None:
        start_s = (lives[-1].finished_s or 0.0) + waited_s
        lives.append(Lived(start_s, start_s + 1))
    found = dues(curve, lives, version=version, mode=mode, deviations=deviations)
    return found[-2:] if waited_s is not None else found[-1:]


def windows(due: Due) -> list[tuple[float, float]]:
    return [(each.delay_s, each.latest_s) for each in due.windows]


@pytest.mark.parametrize("deviations", [DOCUMENTED, SHIPPED], ids=["documented", "shipped"])
def test_560_s_at_a_cap_of_20_s_keep_the_counter(deviations: frozenset[str]) -> None:
    long, crash = after_long_run(CURVE_20S, 560, deviations, waited_s=21)
    assert windows(long) == [(20, 22.5)]
    assert windows(crash) == [(20, 22.5)]


def test_590_s_at_a_cap_of_20_s_keep_the_counter_as_documented() -> None:
    long, crash = after_long_run(CURVE_20S, 590, DOCUMENTED, waited_s=21)
    assert windows(long) == [(20, 22.5)]
    assert windows(crash) == [(20, 22.5)]


def test_590_s_at_a_cap_of_20_s_forget_the_counter_in_the_kubelet() -> None:
    long, crash = after_long_run(CURVE_20S, 590, SHIPPED, waited_s=12)
    assert windows(long) == [(9, 17)]
    assert long.reason == "the counter was collected 600 s after the start attempt, while the container waited"
    assert windows(crash) == [(10, 12.5)]


@pytest.mark.parametrize("deviations", [DOCUMENTED, SHIPPED], ids=["documented", "shipped"])
def test_610_s_reset_the_curve(deviations: frozenset[str]) -> None:
    long, crash = after_long_run(CURVE_20S, 610, deviations, waited_s=0.5)
    assert windows(long) == [(0, 2.5)]
    assert long.reason == "it ran for 610.0 s, more than 600 s, so the curve starts over"
    assert windows(crash) == [(10, 12.5)]


def test_400_s_at_the_default_cap_wait_in_full_as_documented() -> None:
    long, crash = after_long_run(Curve(10, 300), 400, DOCUMENTED, waited_s=310)
    assert long.delay_s == 300
    assert crash.delay_s == 300


@pytest.mark.parametrize(
    ("run_s", "earliest_s", "waited_s"), [(400, 199, 262), (590, 9, 65)], ids=["ran-400s", "ran-590s"]
)
def test_more_than_300_s_at_the_default_cap_cut_the_wait_short_in_the_kubelet(
    run_s: float, earliest_s: float, waited_s: float
) -> None:
    long, crash = after_long_run(Curve(10, 300), run_s, SHIPPED, waited_s=waited_s, mode=Mode.NATURAL)
    assert windows(long) == [(earliest_s, earliest_s + 1 + 5 + 91)]
    assert long.delay_s < waited_s < long.latest_s
    assert crash.delay_s == 10


def test_up_to_1_34_the_shortened_wait_ends_at_the_next_poll() -> None:
    (long,) = after_long_run(Curve(10, 300), 400, SHIPPED, mode=Mode.NATURAL, version=V1_34)
    assert windows(long) == [(199, 200 + 5 + 16)]


@pytest.mark.parametrize(
    ("run_s", "expected"),
    [
        (505, [(60, 91.15)]),
        (515, [(60, 90), (84, 91.15)]),
        (535, [(60, 70), (64, 91.15)]),
        (550, [(49, 91.15)]),
    ],
    ids=["kept-even-if-late", "late-into-collection", "due-just-before-collection", "collected-first"],
)
def test_where_lateness_meets_collection_either_outcome_is_right(
    run_s: float, expected: list[tuple[float, float]]
) -> None:
    (long,) = after_long_run(Curve(10, 60), run_s, SHIPPED, mode=Mode.NATURAL)
    assert windows(long) == expected


def test_a_start_that_the_host_held_up_may_come_after_the_collection() -> None:
    for held_s, next_delays in ((0.0, [20]), (60.0, [10, 20])):
        lives = (Lived(0, 1), Lived(1.5, 2.5), Lived(13, 14, held_s=0), Lived(66, 626), Lived(702, 703, held_s=held_s))
        *_, crash = dues(CURVE_20S, (*lives, Lived(714, 715)), version=V1_37, mode=Mode.ANNOTATED, deviations=SHIPPED)[
            :5
        ]
        assert sorted({each.delay_s for each in crash.windows}) == next_delays


def test_the_wait_that_was_seen_tells_which_outcome_it_was() -> None:
    for waited_s, next_delays in ((65, [60]), (81, [10]), (76, [10, 60])):
        _, crash = after_long_run(Curve(10, 60), 525, SHIPPED, waited_s=waited_s, mode=Mode.NATURAL)
        assert [each.delay_s for each in crash.windows] == next_delays


@pytest.mark.parametrize("deviations", [DOCUMENTED, SHIPPED], ids=["documented", "shipped"])
def test_a_run_whose_length_cannot_be_told_from_ten_minutes_has_both_outcomes(deviations: frozenset[str]) -> None:
    (long,) = after_long_run(CURVE_20S, 599.5, deviations)
    assert long.delay_s == 0
    assert len(long.windows) == 2


@pytest.mark.parametrize("run_s", [45, 310], ids=["twice-the-maximum", "five-minutes"])
@pytest.mark.parametrize("deviations", [DOCUMENTED, SHIPPED], ids=["documented", "shipped"])
def test_the_threshold_is_neither_twice_the_maximum_nor_five_minutes(run_s: float, deviations: frozenset[str]) -> None:
    long, crash = after_long_run(CURVE_20S, run_s, deviations, waited_s=20)
    assert (long.delay_s, crash.delay_s) == (20, 20)
