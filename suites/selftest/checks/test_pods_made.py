"""The pods that a Deployment makes when its containers end for good."""

from crashloop.checks.finding import Checked
from crashloop.checks.kinds import CHECKERS
from crashloop.model.variants import DOCUMENTED, REPLACES_AT_ONCE
from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.owner import Deployment
from crashloop.spec.pod import Pod, RestartPolicy
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.cases import app, case, told
from suites.selftest.kit.histories import History

DEPLOYED = PodScenario(
    name="made-up",
    profile="max-2s",
    control_plane=ControlPlane(),
    pod=Pod(containers=(app(exits_with(1), restart_policy=RestartPolicy.NEVER),)),
    until=Until(),
    owner=Deployment(),
)
FLOODING = frozenset({REPLACES_AT_ONCE})


def made(*at_s: float, ends_s: float = 70.0) -> History:
    """Pods that begin then, run for a second, and are said to have failed 0.3 s later."""
    history = History(DEPLOYED)
    for number, begins_s in enumerate(at_s):
        if number:
            history.recreated(begins_s, f"pod-{number}")
        history.lives("app", (begins_s + 0.5, begins_s + 1.5, 1), status=False)
        history.status(begins_s + 0.8, {"app": history.running("app", 0, begins_s + 0.5)})
        ended = history.exited("app", 0, begins_s + 0.5, begins_s + 1.5, 1)
        history.status(begins_s + 1.8, {"app": ended}, phase="Failed")
    return history.ends(ends_s)


def answered(history: History, deviations: frozenset[str] = DOCUMENTED) -> Checked:
    return CHECKERS["pods-made"](case(history, deviations=deviations))


def test_accepts_as_many_pods_as_a_container_would_have_starts() -> None:
    answer = answered(made(0.0, 2.0, 14.0))
    assert told(answer) == []
    assert answer.facts == {"pods": 3, "within_s": 30.0}


def test_a_pod_for_every_two_seconds_is_a_fail() -> None:
    history = made(*(2.0 * number for number in range(6)))
    last = answered(history).findings[0].lines[-1]
    assert told(answered(history)) == [
        f"FAIL: the Deployment made 6 pods within 30 s (history line {last}); a container would have been started 3 times."
    ]


def test_pods_after_the_time_do_not_count() -> None:
    assert told(answered(made(0.0, 2.0, 14.0, 36.0))) == []


def test_a_watch_that_is_too_short_decides_nothing() -> None:
    assert told(answered(made(0.0, 2.0, ends_s=20.0))) == [
        "INCONCLUSIVE: the pods were watched for 19.8 s: the scenario was complete."
    ]


def test_the_flood_is_as_known_where_every_pod_is_replaced_at_once() -> None:
    assert told(answered(made(*(2.0 * number for number in range(34))), FLOODING)) == []


def test_a_pod_that_is_not_replaced_contradicts_the_known_flood() -> None:
    history = made(0.0)
    (finding,) = answered(history, FLOODING).findings
    assert finding.sentence == (
        f"a pod that had ended (history line {finding.lines[0]}) was not replaced for 68.2 s; it was to be replaced at once."
    )


def test_a_second_pod_beside_one_that_has_not_ended_contradicts_it() -> None:
    history = History(DEPLOYED).lives("app", (0.5, None, 0)).recreated(10.0, "pod-1").lives("app", (10.5, None, 0))
    (finding,) = answered(history.ends(70.0), FLOODING).findings
    assert finding.sentence == (
        f"the Deployment made a pod (history line {finding.lines[0]}) while the one before it had not ended."
    )
