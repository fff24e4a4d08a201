"""The scheduler places a pod where its node declares what it needs, and the kubelet runs what is bound to it."""

import msgspec
import pytest

from crashloop.checks.finding import Checked
from crashloop.checks.kinds import CHECKERS
from crashloop.history.event import Channel, Kind
from crashloop.model.variants import DOCUMENTED, RESTART_ALL_OFF_REJECTS_POD
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Action, RestartPolicy, restart_in
from crashloop.spec.profile import RESTART_ALL_GATE, KubeletProfile
from crashloop.spec.program import exits_with
from suites.selftest.kit.cases import app, case, scenario, told
from suites.selftest.kit.histories import History

WITHOUT = KubeletProfile(name="restart-all-off", config={"featureGates": {RESTART_ALL_GATE: False}})
REJECTING = frozenset({RESTART_ALL_OFF_REJECTS_POD})


def needing(action: Action, *, by_scheduler: bool = False) -> History:
    """A pod with a rule of that action, bound to a node without RestartAllContainers."""
    ruled = app(exits_with(42), restart_policy=RestartPolicy.ON_FAILURE, rules=(restart_in(42, action=action),))
    made = scenario(ruled, policy=RestartPolicy.ON_FAILURE, profile=WITHOUT)
    return History(msgspec.structs.replace(made, by_scheduler=by_scheduler))


def left_pending(history: History, at_s: float = 0.1) -> History:
    return stated(history, at_s, "Pending", scheduled="False")


def stated(history: History, at_s: float, phase: str, *, scheduled: str = "", reason: str = "") -> History:
    conditions = [{"type": "PodScheduled", "status": scheduled}] if scheduled else []
    status = {"phase": phase, "reason": reason, "conditions": conditions}
    return history.add(at_s, Channel.API, Kind.STATUS, {"status": status}, pod=True)


def answered(checker: str, history: History, deviations: frozenset[str] = DOCUMENTED) -> Checked:
    return CHECKERS[checker](case(history, WITHOUT, deviations))


def test_a_rejected_pod_is_a_fail_where_the_action_was_to_be_ignored() -> None:
    history = stated(needing(Action.RESTART_ALL_CONTAINERS), 0.4, "Failed", reason="PodFeatureUnsupported").ends(30)
    line = history.line_of(Kind.STATUS)
    assert told(answered("admitted", history)) == [
        f"FAIL: the kubelet rejected the pod, reason PodFeatureUnsupported (history line {line}); it was to run it."
    ]
    assert told(answered("admitted", history, REJECTING)) == []


def test_a_pod_that_is_rejected_for_another_reason_than_the_one_that_is_due_is_a_fail() -> None:
    history = stated(needing(Action.RESTART_ALL_CONTAINERS), 0.4, "Failed", reason="UnexpectedAdmissionError").ends(30)
    line = history.line_of(Kind.STATUS)
    assert told(answered("admitted", history, REJECTING)) == [
        f"FAIL: the kubelet rejected the pod, reason UnexpectedAdmissionError (history line {line}); "
        "the reason PodFeatureUnsupported was due."
    ]


def test_a_pod_that_runs_is_a_fail_where_a_rejection_is_due() -> None:
    history = needing(Action.RESTART_ALL_CONTAINERS).lives("app", (0.5, 1.5, 42), (1.8, None, 0)).ends(30)
    assert told(answered("admitted", history)) == []
    line = history.line_of(Kind.CREATED, channel=Channel.RUNTIME)
    assert told(answered("admitted", history, REJECTING)) == [
        f"FAIL: the kubelet started the pod (history line {line}); it was to reject it."
    ]


def test_a_pod_for_which_its_node_had_no_room_decides_nothing() -> None:
    history = stated(needing(Action.RESTART), 0.4, "Failed", reason="OutOfcpu").ends(30)
    (finding,) = told(answered("admitted", history))
    assert finding.startswith("INCONCLUSIVE: the kubelet rejected the pod, reason OutOfcpu")
    assert finding.endswith("Its node had no room for it.")


@pytest.mark.parametrize("reason", ["Evicted", "DeadlineExceeded"])
def test_a_pod_that_was_ended_before_it_began_was_not_rejected(reason: str) -> None:
    history = stated(needing(Action.RESTART), 5.0, "Failed", reason=reason).ends(30)
    assert told(answered("admitted", history)) == [
        "INCONCLUSIVE: the pod was neither started nor rejected: the scenario was complete."
    ]


def test_a_pod_that_ran_and_failed_was_not_rejected() -> None:
    history = needing(Action.RESTART).lives("app", (0.5, 1.5, 42))
    assert told(answered("admitted", stated(history, 5.0, "Failed", reason="DeadlineExceeded").ends(30))) == []


def test_a_pod_that_is_rejected_once_it_ran_is_a_fail() -> None:
    """As when its kubelet restarts beside one that has ended and counts as running (kubernetes/kubernetes#105523)."""
    history = needing(Action.RESTART).lives("app", (0.5, 5.5, 143))
    stated(history, 6.0, "Failed", reason="NodePorts").ends(30)
    lines = history.line_of(Kind.CREATED, channel=Channel.RUNTIME), history.line_of(Kind.STATUS, 2)
    assert told(answered("admitted", history)) == [
        f"FAIL: the kubelet rejected a pod that it ran, reason NodePorts (history lines {lines[0]} and {lines[1]})."
    ]


def test_accepts_a_pod_that_is_left_pending_beside_a_node_without_what_it_needs() -> None:
    history = left_pending(needing(Action.RESTART_ALL_CONTAINERS, by_scheduler=True)).ends(30)
    answer = answered("placement", history)
    assert told(answer) == []
    assert answer.facts == {"pending_s": 29.9}


@pytest.mark.parametrize(
    "shown",
    [
        {"phase": "Pending", "scheduled": "True"},
        {"phase": "Failed", "reason": "PodFeatureUnsupported"},
    ],
    ids=["bound", "rejected"],
)
def test_a_pod_that_is_bound_to_a_node_without_what_it_needs_is_a_fail(shown: dict[str, str]) -> None:
    pending = left_pending(needing(Action.RESTART_ALL_CONTAINERS, by_scheduler=True))
    history = stated(pending, 9.0, **shown).ends(30)
    line = history.line_of(Kind.STATUS, 1)
    assert told(answered("placement", history)) == [
        f"FAIL: the scheduler bound the pod to its node (history line {line}); it was to leave it Pending, "
        "for the node does not declare what it needs."
    ]


def test_a_pod_that_was_not_left_pending_for_long_decides_nothing() -> None:
    history = left_pending(needing(Action.RESTART_ALL_CONTAINERS, by_scheduler=True)).ends(12)
    assert told(answered("placement", history)) == [
        "INCONCLUSIVE: the pod was left Pending for 11.9 s, 20 s needed: the scenario was complete."
    ]


def test_a_scheduler_that_says_nothing_decides_nothing() -> None:
    for action, missing in (
        (Action.RESTART_ALL_CONTAINERS, "no status says that the scheduler found no node"),
        (Action.RESTART, "no status says that the scheduler bound the pod"),
    ):
        history = stated(needing(action, by_scheduler=True), 0.1, "Pending").ends(30)
        assert told(answered("placement", history)) == [f"INCONCLUSIVE: {missing}: the scenario was complete."]


def test_a_pod_that_is_left_pending_beside_a_node_with_what_it_needs_is_a_fail() -> None:
    history = left_pending(needing(Action.RESTART, by_scheduler=True)).ends(30)
    line = history.line_of(Kind.STATUS)
    assert told(answered("placement", history)) == [
        f"FAIL: the scheduler left the pod Pending for 29.9 s (history line {line}); its node declares what it needs."
    ]


def test_a_watch_that_was_lost_may_have_missed_the_binding() -> None:
    history = left_pending(needing(Action.RESTART_ALL_CONTAINERS, by_scheduler=True))
    history.gap(Channel.API, 12.0, 14.0).ends(30)
    line = history.line_of(Kind.GAP)
    assert told(answered("placement", history)) == [
        f"INCONCLUSIVE: the watch was lost for 2 s (history line {line}), and with it perhaps its binding."
    ]


def test_what_has_yet_to_end_is_rejected_on_a_node_that_lost_the_label_that_it_selects() -> None:
    unlabel = Intervention(trigger=Trigger(after_s=4.0), action=InterventionKind.UNLABEL_NODE)
    made = scenario(app(exits_with(42)), profile=WITHOUT)
    history = History(msgspec.structs.replace(made, by_scheduler=True, interventions=(unlabel,)))
    stated(history.lives("app", (0.5, 5.5, 143)), 6.0, "Failed", reason="NodeAffinity").ends(30)
    assert [each for each in told(answered("admitted", history)) if "FAIL" in each] == []
