"""A container that fails until what it needs is back runs again within the node's maximum delay."""

import msgspec

from crashloop.history.event import Kind
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import Until
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History

DEPENDING = scenario(app(msgspec.structs.replace(exits_with(1, times=9), fails_until_s=5)), until=Until(at_least_s=30))
"""Back 5 s after the first start; a delay of 2 s is the maximum, 4 s with the kubelet's retry, and each life runs for 1 s."""


def test_a_life_that_begins_soon_after_the_return_is_the_recovery() -> None:
    history = History(DEPENDING).lives("app", (0.5, 1.5, 1), (2, 3, 1), (5.3, 6.3, 1), (9, None, 0)).ends(30)
    answer = checked("recovery", history)
    assert told(answer) == []
    assert answer.facts == {"recovery_s": {"app": 3.39}}


def test_a_life_that_begins_long_after_the_return_is_a_fail() -> None:
    history = History(DEPENDING).lives("app", (0.5, 1.5, 1), (2, 3, 1), (5.3, 6.3, 1), (13, None, 0)).ends(30)
    line = history.line_of(Kind.CREATED, 3, container="app")
    assert told(checked("recovery", history)) == [
        f'FAIL: "app" was started within 7.39 s of the return of what it depends on (history line {line}); '
        "5.15 s is the longest."
    ]


def test_a_container_that_never_runs_again_is_a_fail() -> None:
    history = History(DEPENDING).lives("app", (0.5, 1.5, 1), (2, 3, 1)).ends(30)
    line = history.line_of(Kind.CREATED, 1, container="app")
    assert told(checked("recovery", history)) == [
        f'FAIL: "app" was not started within 24.49 s of the return of what it depends on (history line {line}); '
        "5.15 s is the longest."
    ]


def test_a_recording_that_ends_before_the_recovery_is_inconclusive() -> None:
    history = History(DEPENDING).lives("app", (0.5, 1.5, 1), (2, 3, 1)).ends(8, "deadline")
    line = history.line_of(Kind.CREATED, 1, container="app")
    assert told(checked("recovery", history)) == [
        f'INCONCLUSIVE: "app" was not started within 2.49 s of the return of what it depends on (history line {line}); '
        "5.15 s is the longest: the watch ended at its deadline of 90 s."
    ]
