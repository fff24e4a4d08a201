"""A node that ends a pod owes it nothing any more, and no checker accuses it of that; it starts nothing of it again."""

import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.pod import Container, Pod
from crashloop.spec.program import KILLED, runs
from crashloop.spec.scenario import PodScenario, Until
from crashloop.verdict import Outcome
from suites.selftest.kit.cases import CRASHING, GOOD, OF_PODS, checked, told
from suites.selftest.kit.histories import History, stamp

WAITING = {
    "name": "app",
    "restartCount": 2,
    "containerID": "containerd://app-2",
    "state": {
        "terminated": {
            "exitCode": 1,
            "startedAt": stamp(GOOD[2][0]),
            "finishedAt": stamp(GOOD[2][1]),
            "containerID": "containerd://app-2",
        }
    },
}


def ended_after_restart_2(reason: str) -> History:
    """The pod is Failed 3 s after its third exit, when a restart was due."""
    history = History(CRASHING).lives("app", *GOOD[:3])
    history.status(9.3, {"app": WAITING}, phase="Failed", reason=reason)
    return history.ends(90, "deadline")


@pytest.mark.parametrize("reason", ["Evicted", "Preempting", "Terminated"])
@pytest.mark.parametrize("checker", sorted(OF_PODS.keys() - {"no-restart"}))
def test_no_checker_accuses_a_node_that_ended_the_pod(checker: str, reason: str) -> None:
    assert checked(checker, ended_after_restart_2(reason)).outcome is not Outcome.FAIL


def test_what_was_owed_before_is_judged() -> None:
    """Restart 2 came 1 s early, long before the eviction."""
    history = History(CRASHING).lives("app", *GOOD[:2], (4.0, 5.0, 1))
    history.status(30, {"app": WAITING}, phase="Failed", reason="Evicted")
    assert checked("delays", history.ends(40)).outcome is Outcome.FAIL


def test_a_pod_that_fails_for_no_such_reason_is_accused() -> None:
    assert checked("pod-phase", ended_after_restart_2("")).outcome is Outcome.FAIL
    assert checked("delays", ended_after_restart_2("")).outcome is Outcome.FAIL


def test_the_final_phase_says_who_ended_the_pod() -> None:
    (finding,) = told(checked("pod-phase", ended_after_restart_2("Evicted")))
    assert finding.startswith("INCONCLUSIVE: the node ended the pod itself, reason Evicted (history line ")


def deleted(*lives: tuple[float, float | None, int], create_s: float = 0.1) -> History:
    """A pod with a grace period that is deleted at 5 s, whose container ignores SIGTERM."""
    pod = Pod(containers=(Container(program=runs((10, 1)), exit_code_on_term=KILLED),), grace_s=20)
    watched = PodScenario(name="deleted", profile="max-2s", pod=pod, until=Until(at_least_s=40))
    return History(watched, create_s=create_s).lives("app", *lives).intervention(5, "delete-pod").ends(40)


def test_what_exits_while_its_pod_ends_stays_down() -> None:
    answer = checked("no-start-at-end", deleted((1.0, 11.0, 1)))
    assert told(answer) == []
    assert answer.facts == {"exits": 1}


def test_a_start_while_the_pod_ends_is_a_fail() -> None:
    history = deleted((1.0, 11.0, 1), (12.0, None, 0))
    line = history.line_of(Kind.CREATED, 1, channel=Channel.RUNTIME)
    assert told(checked("no-start-at-end", history)) == [
        f'FAIL: instance 1 of "app" was started 6.9 s after its pod began to end (history line {line}); nothing was to.'
    ]


def test_a_start_that_was_under_way_at_the_deletion_is_none_of_its_end() -> None:
    assert told(checked("no-start-at-end", deleted((1.0, 4.0, 1), (5.5, 15.5, 1)))) == []


def test_a_start_that_the_host_held_up_is_inconclusive() -> None:
    history = deleted((1.0, 4.0, 1), (12.0, 22.0, 1)).stall(4.5, 11.9)
    assert checked("no-start-at-end", history).outcome is Outcome.INCONCLUSIVE


@pytest.mark.parametrize(("took_s", "outcome"), [(0.03, Outcome.FAIL), (3.0, Outcome.INCONCLUSIVE)])
def test_a_kubelet_learns_of_the_end_by_its_watch(took_s: float, outcome: Outcome) -> None:
    history = deleted((1.0, 4.0, 1), (12.0, 22.0, 1)).api_controls(40, took_s=took_s)
    assert checked("no-start-at-end", history).outcome is outcome


def test_what_the_runtime_takes_for_a_start_is_none_of_the_kubelets() -> None:
    """Created 5.5 s after the deletion, and started 2 s later."""
    history = deleted((3.0, 4.0, 1), (12.5, 22.5, 1), create_s=2.0)
    assert checked("no-start-at-end", history).outcome is Outcome.INCONCLUSIVE


def test_only_what_ends_by_itself_shows_that_nothing_starts() -> None:
    assert told(checked("no-start-at-end", deleted((1.0, 25.0, KILLED)))) == [
        "INCONCLUSIVE: 0 exits of what ended by itself while its pod did seen, 1 needed: the scenario was complete."
    ]
