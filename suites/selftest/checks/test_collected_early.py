"""Garbage collection counts a container that was created and does not run yet, and removes the exit that a restart goes by."""

from typing import Any

import pytest

from crashloop.checks.judge import run_checkers
from crashloop.history.event import Kind
from crashloop.model.variants import TWO_FREE_AFTER_KILLS
from crashloop.spec.pod import Probe
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import Until
from crashloop.verdict import Outcome
from suites.selftest.kit.cases import CRASHING, STOCK, app, checked, question, scenario, told
from suites.selftest.kit.histories import History

KILLED = scenario(app(probes=(Probe(fails_after_s=2.0),)), profile=STOCK, until=Until(restarts={"app": 4}))
SHIPPED = frozenset({TWO_FREE_AFTER_KILLS})


def slow_start(removed: dict[str, float], again_s: float) -> History:
    """Kills after 5 s. The third instance takes 2.6 s to start; after its kill another follows at once."""
    history = History(KILLED, profile=STOCK).node(-0.8, maximum="5m0s")
    history.lives("app", (1.0, 6.0, 143), (6.3, 11.3, 143), status=False)
    history.runtime(11.4, Kind.CREATED, "app", "app-2").runtime(14.0, Kind.STARTED, "app", "app-2")
    history.runtime(19.0, Kind.EXITED, "app", "app-2", 143)
    history.journal(14.01, Kind.STARTED, "app", 2).journal(18.99, Kind.EXITED, "app", 2, 143)
    history.lives("app", (19.3, 24.3, 143), (again_s, None, 0), first=3, status=False)
    for identity, at_s in removed.items():
        history.runtime(at_s, Kind.REMOVED, "app", identity)
    return history.ends(40)


def outcome(again_s: float = 34.6, **removed: float) -> Outcome:
    """By the rules of the kubelet as it is shipped."""
    history = slow_start({each.replace("_", "-"): at_s for each, at_s in removed.items()}, again_s)
    return run_checkers(question(history, "delays", profile=STOCK, min_delays=1), SHIPPED).outcome


def test_a_kill_is_followed_by_a_restart_at_once_where_no_exit_was_left() -> None:
    assert outcome(app_1=13.0) is Outcome.PASS


def test_a_restart_at_once_is_a_fail_where_the_exit_before_was_there() -> None:
    assert outcome() is Outcome.FAIL
    assert outcome(app_1=19.1) is Outcome.FAIL


def test_a_kubelet_that_removes_exits_more_often_than_once_a_minute_is_no_garbage_collection() -> None:
    assert outcome(app_1=13.0, app_2=19.25, again_s=24.6) is Outcome.FAIL


COUNTED = scenario(app(KILLED.pod.containers[0].program), until=Until(restarts={"app": 1}))


def without_last_exit(*, removed_s: float) -> History:
    """The only exit is at 2 s; the next instance is created at 2.9 s and runs from 5.9 s on, without a last state."""
    history = History(COUNTED).lives("app", (1.0, 2.0, 1))
    history.runtime(2.9, Kind.CREATED, "app", "app-1").runtime(5.9, Kind.STARTED, "app", "app-1")
    history.runtime(removed_s, Kind.REMOVED, "app", "app-0").journal(5.91, Kind.STARTED, "app", 1)
    return history.status(6.2, {"app": {**history.running("app", 1, 5.9), "lastState": {}}}).ends(20)


def test_a_last_exit_that_was_collected_before_it_could_be_shown_is_inconclusive() -> None:
    history = without_last_exit(removed_s=4.0)
    status, removed = history.line_of(Kind.STATUS, 2), history.line_of(Kind.REMOVED)
    created = history.line_of(Kind.CREATED, 2)
    assert told(checked("last-exit", history)) == [
        f'INCONCLUSIVE: a status of "app" (history line {status}) shows no last exit; restart 1 was running. Garbage collection '
        f"removed that instance (history line {removed}) before the next ran."
    ]
    assert checked("last-exit", history).findings[0].lines == (status, created, removed)


def test_a_last_exit_that_was_removed_before_the_next_start_has_to_be_shown() -> None:
    (finding,) = told(checked("last-exit", without_last_exit(removed_s=2.5)))
    assert finding.startswith('FAIL: a status of "app"')


def test_an_exit_that_only_the_journal_saw_makes_the_next_removal_an_ordinary_one() -> None:
    history = History(scenario(app(exits_with(1, times=5)), profile=STOCK), profile=STOCK).node(-0.8, maximum="5m0s")
    history.lives("app", (1.0, 2.0, 1), (2.3, 3.3, 1), status=False)
    history.runtime(13.6, Kind.CREATED, "app", "app-2").runtime(13.7, Kind.STARTED, "app", "app-2")
    history.journal(13.71, Kind.STARTED, "app", 2).journal(14.7, Kind.EXITED, "app", 2, 1)
    history.runtime(15.3, Kind.REMOVED, "app", "app-1")
    history.lives("app", (35.6, 36.6, 1), (78.0, None, 0), first=3, status=False)
    assert checked("delays", history.ends(90), STOCK, min_delays=3).outcome is Outcome.PASS


def running(number: int, start_s: float) -> dict[str, Any]:
    """The status of an instance that runs and shows the first exit."""
    history = History(CRASHING)
    return {**history.running("app", number, start_s), "lastState": history.exited("app", 0, 0.5, 1.5, 1)["state"]}


def taken_away(*, by_hand: bool, exits_s: float = 3.0) -> History:
    """The runtime has no record of the second exit any more from 3.65 s on; the third instance starts at 4.2 s."""
    history = History(CRASHING).lives("app", (0.5, 1.5, 1)).status(2.3, {"app": running(1, 2.0)})
    history.lives("app", (2.0, exits_s, 1), (4.2, None, 0), first=1, status=False)
    if by_hand:
        history.intervention(3.6, "remove-container", ended_s=3.7, container="app")
    return history.runtime(3.65, Kind.REMOVED, "app", "app-1")


@pytest.mark.parametrize("exits_s", [3.0, 3.62], ids=["had ended", "is ended by that"])
def test_no_delay_is_due_after_an_exit_whose_record_somebody_took_away(exits_s: float) -> None:
    assert checked("delays", taken_away(by_hand=True, exits_s=exits_s).ends(30), min_delays=1).outcome is Outcome.PASS
    assert checked("delays", taken_away(by_hand=False, exits_s=exits_s).ends(30)).outcome is Outcome.FAIL


@pytest.mark.parametrize(("by_hand", "says"), [(True, []), (False, ["FAIL"])])
def test_an_older_exit_is_the_last_one_where_somebody_took_the_newest_away(by_hand: bool, says: list[str]) -> None:
    history = taken_away(by_hand=by_hand)
    findings = told(checked("last-exit", history.status(4.5, {"app": running(2, 4.2)}).ends(30)))
    assert [each.split(":")[0] for each in findings] == says


@pytest.mark.parametrize(("by_hand", "says"), [(True, []), (False, ["FAIL"])])
def test_restarts_are_counted_by_the_record_that_is_left(by_hand: bool, says: list[str]) -> None:
    history = taken_away(by_hand=by_hand)
    history.status(3.8, {"app": history.exited("app", 0, 0.5, 1.5, 1)})
    history.status(4.5, {"app": running(2, 4.2)})
    assert [each.split(":")[0] for each in told(checked("restart-count", history.ends(30)))] == says
