"""Starts that cannot succeed: the delay that is promised after them, and the one that kubelets make of them."""

import math

import pytest

from crashloop.model.backoff import Due, dues
from crashloop.model.config import Curve
from crashloop.model.lives import Lived, StartsBlocked
from crashloop.model.variants import DOCUMENTED, FAILED_STARTS_COUNT
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion

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
