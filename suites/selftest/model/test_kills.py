"""Restarts after kills by the kubelet: the documented curve, and the stale status that the kubelet goes by."""

import pytest

from crashloop.model.backoff import dues
from crashloop.model.config import Curve
from crashloop.model.lives import CounterLost, DeadContainerRemoved, Lived, Observed
from crashloop.model.variants import DOCUMENTED, TWO_FREE_AFTER_KILLS
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion

V1_37 = KubernetesVersion(1, 37)
SHIPPED = frozenset({TWO_FREE_AFTER_KILLS})


def liveness_loop(curve: Curve, life_s: float, kills: int, deviations: frozenset[str]) -> list[float]:
    """Delays of a container that is killed `life_s` into each life and restarted when due."""
    lives: list[Lived] = []
    start_s = 0.0
    for _ in range(kills):
        lives.append(Lived(start_s, start_s + life_s, killed_by_kubelet=True))
        found = dues(curve, lives, version=V1_37, mode=Mode.ANNOTATED, deviations=deviations)
        start_s += life_s + found[-1].delay_s
    return [due.delay_s for due in found]


@pytest.mark.parametrize(
    ("curve", "life_s", "delays"),
    [
        (Curve(10, 300), 30, [0, 0, 0, 0, 40, 80, 160, 300, 0, 300, 0]),
        (Curve(10, 300), 5, [0, 0, 10, 20, 40, 80]),
        (Curve(10, 10), 5, [0, 0, 10, 0, 10, 0]),
        (Curve(1, 1), 1, [0, 0, 0, 0, 0, 0]),
        (Curve(1, 1), 30, [0, 0, 0, 0, 0, 0]),
    ],
    ids=["outlives-the-first-delays", "short-lives", "alternates-at-the-cap", "never-delayed", "never-delayed-long"],
)
def test_the_kubelet_goes_by_the_exit_before_the_kill(curve: Curve, life_s: float, delays: list[float]) -> None:
    assert liveness_loop(curve, life_s, len(delays), SHIPPED) == delays


@pytest.mark.parametrize("life_s", [5, 30])
def test_kills_wait_like_crashes_as_documented(life_s: float) -> None:
    assert liveness_loop(Curve(10, 300), life_s, 6, DOCUMENTED) == [0, 10, 20, 40, 80, 160]


def test_a_kill_close_to_the_delay_may_go_either_way() -> None:
    lives = [Lived(0, 9, True), Lived(9, 18, True), Lived(18, 27, True)]
    found = dues(Curve(10, 300), lives, version=V1_37, mode=Mode.ANNOTATED, deviations=SHIPPED)
    # Never before 10 s after the exit before, stamps aside.
    assert [each.delay_s for each in found[-1].windows] == [0.75, 10]


def test_a_start_that_the_host_held_up_after_a_kill_may_find_the_delay_over() -> None:
    def windows(late_s: float) -> list[float]:
        lives = [
            Lived(0, 9, killed_by_kubelet=True),
            Lived(9, 18, killed_by_kubelet=True),
            Lived(18, 24, killed_by_kubelet=True),
            Lived(31, 32, created_late_s=late_s),
        ]
        found = dues(Curve(10, 300), lives, version=V1_37, mode=Mode.ANNOTATED, deviations=SHIPPED)
        return [each.delay_s for each in found[2].windows]

    assert windows(late_s=0.0) == [10]
    assert windows(late_s=4.0) == [3.75, 10]


def test_crashes_between_kills_keep_their_delay() -> None:
    lives = [Lived(0, 5), Lived(5, 10), Lived(20, 25, True), Lived(25, 26)]
    found = dues(Curve(10, 300), lives, version=V1_37, mode=Mode.ANNOTATED, deviations=SHIPPED)
    assert [due.delay_s for due in found] == [0, 10, 20, 40]


@pytest.mark.parametrize(("removed_s", "windows"), [(20, [0]), (23, [0, 10])], ids=["long-before", "just-before"])
def test_a_kill_without_a_known_exit_before_it_is_followed_at_once(removed_s: float, windows: list[float]) -> None:
    lives: list[Observed] = [Lived(0, 9, True), Lived(9, 18, True), Lived(18, 24, True)]
    lives.insert(3, DeadContainerRemoved(removed_s))
    found = dues(Curve(10, 300), lives, version=V1_37, mode=Mode.ANNOTATED, deviations=SHIPPED)
    assert [each.delay_s for each in found[-1].windows] == windows


@pytest.mark.parametrize(("removed_s", "windows"), [(9, [0]), (None, [10])], ids=["gone", "kept"])
def test_a_removal_with_the_stamp_of_an_exit_comes_after_it(removed_s: float | None, windows: list[float]) -> None:
    """The second kill then finds no exit before it, so that the third is the first that counts."""
    lives: list[Observed] = [Lived(0, 9, True), Lived(9.1, 18, True), Lived(18, 24, True)]
    if removed_s is not None:
        lives.insert(1, DeadContainerRemoved(removed_s, with_its_sandbox=True))
    found = dues(Curve(10, 300), lives, version=V1_37, mode=Mode.ANNOTATED, deviations=SHIPPED)
    assert [each.delay_s for each in found[-1].windows] == windows


def test_a_kill_without_a_known_exit_before_it_does_not_count() -> None:
    lives: list[Observed] = [Lived(0, 9, True), Lived(9, 18, True), Lived(18, 24, True), Lived(24, 27, True)]
    lives.insert(3, DeadContainerRemoved(20))
    found = dues(Curve(10, 300), lives, version=V1_37, mode=Mode.ANNOTATED, deviations=SHIPPED)
    assert [each.delay_s for each in found] == [0, 0, 0, 10]


def test_after_a_lost_counter_a_kill_counts_from_the_beginning_at_once() -> None:
    lives: list[Observed] = [
        Lived(0, 5, True),
        Lived(5, 10, True),
        Lived(10, 20, True),
        CounterLost(15),
        Lived(20, 22, True),
    ]
    found = dues(Curve(10, 300), lives, version=V1_37, mode=Mode.ANNOTATED, deviations=SHIPPED)
    assert [due.delay_s for due in found] == [0, 0, 0, 10]
