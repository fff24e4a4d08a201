"""A node that ends a pod, for want of disk or memory, owes it nothing any more, and no checker accuses it of that."""

import pytest

from crashloop.verdict import Outcome
from suites.selftest.kit.cases import CRASHING, GOOD, OF_PODS, checked, told
from suites.selftest.kit.histories import History

WAITING = {
    "name": "app",
    "restartCount": 2,
    "state": {"terminated": {"exitCode": 1, "containerID": "containerd://app-2"}},
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
