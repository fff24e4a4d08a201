"""The pods of a Job come after the Job controller's own backoff, which begins with 10 s and doubles."""

from crashloop.history.event import Channel, Kind
from crashloop.spec.owner import Job
from crashloop.spec.pod import Pod, RestartPolicy
from crashloop.spec.program import runs
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.cases import app, checked, told
from suites.selftest.kit.histories import UID, History

SCENARIO = PodScenario(
    name="made-up",
    profile="max-2s",
    pod=Pod(containers=(app(runs((1, 1))),), restart_policy=RestartPolicy.NEVER),
    until=Until(),
    owner=Job(),
)


def pods(*begins_s: float) -> History:
    """Pods that each run from half a second after their first status for a second."""
    history = History(SCENARIO)
    for number, begin_s in enumerate(begins_s):
        start_s = begin_s + 0.5
        if number:
            history.recreated(begin_s, f"{UID[:-1]}{number + 1}")
        history.status(begin_s, {}, phase="Pending")
        history.lives("app", (start_s, start_s + 1, 1), status=False)
        history.status(start_s + 1.3, {"app": history.exited("app", 0, start_s, start_s + 1, 1)}, phase="Failed")
    return history


def test_accepts_a_wait_that_doubles() -> None:
    answer = checked("pod-spacing", pods(0.0, 11.1, 32.2).ends(40), min_pods=3)
    assert told(answer) == []
    assert answer.facts == {"spacing": [{"due_s": 10.0, "seen_s": 10.1}, {"due_s": 20.0, "seen_s": 20.2}]}


def test_a_pod_that_comes_early_is_a_fail() -> None:
    history = pods(0.0, 11.1, 22.2).ends(30)
    lines = history.line_of(Kind.STATUS, 3), history.line_of(Kind.STATUS, 4)
    assert told(checked("pod-spacing", history)) == [
        f"FAIL: the Job replaced its failed pod 2 after 10.2 s (history lines {lines[0]} and {lines[1]}); 20 s were due."
    ]


def test_a_pod_that_comes_late_is_a_fail() -> None:
    history = pods(0.0, 31.1).ends(40)
    lines = history.line_of(Kind.STATUS, 1), history.line_of(Kind.STATUS, 2)
    assert told(checked("pod-spacing", history)) == [
        f"FAIL: the Job replaced its failed pod 1 only after 30.1 s (history lines {lines[0]} and {lines[1]}); "
        "10 s were due."
    ]


def test_a_pod_that_its_node_states_late_has_come_in_time() -> None:
    history = pods(0.0).recreated(11.1, f"{UID[:-1]}2").status(40.0, {}, phase="Pending").ends(50)
    answer = checked("pod-spacing", history)
    assert told(answer) == []
    assert answer.facts == {"spacing": [{"due_s": 10.0, "seen_s": 10.1}]}


def test_where_the_watch_was_lost_nobody_is_accused() -> None:
    history = pods(0.0, 31.1).gap(Channel.API, 12.0, 30.0).ends(40)
    assert [each.outcome.value for each in checked("pod-spacing", history).findings] == ["INCONCLUSIVE"]
