"""Pulls that meet on a node come one after the other, and the Events of the kubelet state how long each took and waited."""

import pytest

from crashloop.history.event import Channel, Kind
from crashloop.requirements import load_requirements
from crashloop.spec.dependency import PullPolicy, RegistryImage
from crashloop.spec.owner import Job
from crashloop.spec.pod import RestartPolicy
from crashloop.spec.program import runs
from crashloop.verdict import Outcome, Verdict
from sim import Fault
from sim.faults import PullFault
from suites.conformance.test_pulls import BEHIND_ANOTHER
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History
from tools.trials import history_of, recorded, verdict_of

TWO_PODS = scenario(
    app(runs((1, 0)), image=RegistryImage(policy=PullPolicy.ALWAYS, answers_after_s=4)),
    policy=RestartPolicy.NEVER,
    owner=Job(parallelism=2, backoff_limit=0),
)
FIRST, SECOND = "8.01s (8.01s including waiting)", "4.02s (11.82s including waiting)"


def said(history: History, at_s: float, reason: str, message: str) -> History:
    """A Kubernetes Event about the newest pod."""
    data = {"reason": reason, "message": message, "type": "Normal", "count": 1, "reporter": "kubelet"}
    return history.add(at_s, Channel.EVENTS, Kind.KUBERNETES_EVENT, data, pod=True, container="app")


def pulled(first: str = FIRST, second: str = SECOND, *, second_s: float = 8.5, asks_s: float = 0.71) -> History:
    """A pull from 0.5 s to 8.5 s, asked for by the first pod, and one of 4 s; `second` is what the Event of that states."""
    history = History(TWO_PODS)
    said(history, 0.46, "Pulling", "Pulling image")
    said(history, 8.52, "Pulled", f"Successfully pulled image in {first}. Image size: 9 bytes.")
    history.recreated(0.3, "0d5f3d3e-aaaa-4bbb-8ccc-000000000002")
    history.add(0.6, Channel.RUNTIME, Kind.SANDBOX, {"container_id": "sandbox-1", "phase": "created"}, pod=True)
    said(history, asks_s, "Pulling", "Pulling image")
    said(history, second_s + 4.05, "Pulled", f"Successfully pulled image in {second}. Image size: 9 bytes.")
    history.request(0.5, answered_s=4.5).request(4.5, reference="sha256:1", answered_s=8.5)
    return history.request(second_s, answered_s=second_s + 4).ends(30)


def lines_of(history: History, request: int, event: int) -> str:
    lines = sorted((history.line_of(Kind.REQUEST, request), history.line_of(Kind.KUBERNETES_EVENT, event)))
    return f"(history lines {lines[0]} and {lines[1]})"


def test_accepts_a_pull_that_waits_and_the_times_that_its_event_states() -> None:
    answer = checked("pull-wait", pulled())
    took = [{"took_s": 8.01, "waited_s": 0.0}, {"took_s": 4.02, "waited_s": 7.8}]
    assert (told(answer), answer.facts) == ([], {"pulls": took})


def test_a_pull_that_begins_before_the_one_before_it_has_ended_is_a_fail() -> None:
    history = pulled(second_s=4.6)
    lines = sorted((history.line_of(Kind.REQUEST, 1), history.line_of(Kind.REQUEST, 2)))
    assert told(checked("pull-wait", history)) == [
        f"FAIL: pull 2 began 3.9 s before the last answer to pull 1 (history lines {lines[0]} and {lines[1]}); "
        "a node pulls one image at a time."
    ]


def test_an_event_that_leaves_out_the_wait_is_a_fail() -> None:
    history = pulled(second="4.02s (4.02s including waiting)")
    assert told(checked("pull-wait", history)) == [
        f"FAIL: the Event of pull 2 states that it waited 0 s {lines_of(history, 2, 3)}; it waited 6.79 s to 7.95 s."
    ]


def test_an_event_that_states_the_wait_as_part_of_the_pull_is_a_fail() -> None:
    history = pulled(second="11.82s (11.82s including waiting)")
    lines = lines_of(history, 2, 3)
    assert told(checked("pull-wait", history)) == [
        f"FAIL: the Event of pull 2 states that it took 11.82 s {lines}; it took 4 s to 4.05 s.",
        f"FAIL: the Event of pull 2 states that it waited 0 s {lines}; it waited 6.79 s to 7.95 s.",
    ]


def test_an_event_that_states_a_wait_of_the_pull_that_came_first_is_a_fail() -> None:
    history = pulled(first="8.01s (12.01s including waiting)")
    assert told(checked("pull-wait", history)) == [
        f"FAIL: the Event of pull 1 states that it waited 4 s {lines_of(history, 0, 2)}; it waited 0 s to 0.32 s."
    ]


def test_an_event_without_times_is_a_fail() -> None:
    history = pulled(second="no time")
    line = history.line_of(Kind.KUBERNETES_EVENT, 3)
    assert told(checked("pull-wait", history)) == [
        f"FAIL: the Event of pull 2 does not state its times (history line {line})."
    ]


def test_where_events_were_lost_their_order_proves_nothing() -> None:
    history = pulled(second="no time").gap(Channel.EVENTS, 1, 2)
    event, gap = history.line_of(Kind.KUBERNETES_EVENT, 3), history.line_of(Kind.GAP)
    assert told(checked("pull-wait", history)) == [
        f"INCONCLUSIVE: the Event of pull 2 does not state its times (history line {event}). "
        f"Events were lost (history line {gap})."
    ]


def test_pulls_that_nobody_reports_prove_nothing() -> None:
    assert told(checked("pull-wait", pulled().without(Kind.KUBERNETES_EVENT))) == [
        "INCONCLUSIVE: 2 pulls and 0 Events about them were seen: the scenario was complete."
    ]


def test_a_pull_that_is_asked_for_when_the_other_has_ended_proves_nothing() -> None:
    history = pulled(second="4.02s (4.1s including waiting)", asks_s=8.4)
    assert told(checked("pull-wait", history)) == [
        "INCONCLUSIVE: no pull waited for 2 s behind another: the scenario was complete."
    ]


def simulated(*faults: Fault) -> Verdict:
    """The verdict of the suite on a simulated kubelet."""
    return verdict_of(
        load_requirements()["OVH-11"], BEHIND_ANOTHER, recorded(history_of(BEHIND_ANOTHER, frozenset(faults)))
    )


def test_a_simulated_kubelet_pulls_one_image_at_a_time_and_reports_it() -> None:
    assert simulated().outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("fault", "finding"),
    [
        (PullFault.PULLS_AT_ONCE, "a node pulls one image at a time"),
        (PullFault.PULL_WAIT_UNSTATED, "the Event of pull 2 states that it waited 0 s "),
        (PullFault.PULL_WAIT_AS_PULL, "the Event of pull 2 states that it took 1"),
        (PullFault.PULL_WAIT_TWICE, "the Event of pull 2 states that it waited 1"),
        (PullFault.PULL_TIMES_UNSTATED, "the Event of pull 1 does not state its times "),
    ],
)
def test_a_kubelet_that_pulls_or_reports_otherwise_is_shown_and_fails_no_run(fault: Fault, finding: str) -> None:
    found = simulated(fault)
    assert found.outcome is Outcome.FAIL
    assert finding in found.findings[0]
    assert not found.fails_the_run
