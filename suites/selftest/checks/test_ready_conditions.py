"""The conditions Ready and ContainersReady of a pod follow `ready` of its containers."""

from crashloop.history.event import Kind
from crashloop.spec.pod import Container, ContainerKind, RestartPolicy
from crashloop.spec.program import HOLDS
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History

POD = scenario(
    Container(name="sidecar", kind=ContainerKind.INIT, restart_policy=RestartPolicy.ALWAYS, program=HOLDS), app()
)


def said(
    *, sidecar: bool, app: bool, containers_ready: str, ready: str, phase: str = "Running", reason: str = ""
) -> History:
    """A pod that runs, and one status of it."""
    history = History(POD).lives("sidecar", (0.5, None, 0), status=False).lives("app", (1.0, None, 0), status=False)
    containers = {
        "sidecar": history.running("sidecar", 0, 0.5) | {"ready": sidecar},
        "app": history.running("app", 0, 1.0) | {"ready": app},
    }
    conditions = [
        {"type": "ContainersReady", "status": containers_ready, "reason": reason},
        {"type": "Ready", "status": ready, "reason": reason},
    ]
    return history.status(2.0, containers, phase=phase, conditions=conditions).ends(10)


def test_conditions_that_follow_the_containers_are_right() -> None:
    for sidecar, regular, stated in ((True, True, "True"), (False, True, "False"), (False, False, "False")):
        answer = checked("ready-conditions", said(sidecar=sidecar, app=regular, containers_ready=stated, ready=stated))
        assert told(answer) == []
        assert answer.facts == {"statuses": 1}


def test_a_pod_that_is_ready_without_its_sidecar_is_a_fail() -> None:
    history = said(sidecar=False, app=True, containers_ready="True", ready="True")
    line = history.line_of(Kind.STATUS, 0)
    assert told(checked("ready-conditions", history)) == [
        f"FAIL: a status says that ContainersReady of the pod is True (history line {line}); 1 container of it is not ready."
    ]


def test_a_pod_that_stays_ready_while_its_containers_are_down_is_a_fail() -> None:
    history = said(sidecar=False, app=False, containers_ready="False", ready="True")
    line = history.line_of(Kind.STATUS, 0)
    assert told(checked("ready-conditions", history)) == [
        f"FAIL: a status says that Ready of the pod is True (history line {line}); 2 containers of it are not ready."
    ]


def test_containers_that_are_ready_and_not_said_to_be_are_a_fail() -> None:
    history = said(sidecar=True, app=True, containers_ready="False", ready="False")
    line = history.line_of(Kind.STATUS, 0)
    assert told(checked("ready-conditions", history)) == [
        f"FAIL: a status says that ContainersReady of the pod is False (history line {line}); all its containers are ready."
    ]


def test_a_pod_may_be_not_ready_for_another_reason_than_its_containers() -> None:
    history = said(sidecar=True, app=True, containers_ready="True", ready="False")
    assert told(checked("ready-conditions", history)) == []


def test_a_pod_that_has_ended_is_not_judged() -> None:
    history = said(sidecar=True, app=True, containers_ready="False", ready="False", phase="Succeeded")
    assert (
        "INCONCLUSIVE: 0 statuses with ContainersReady seen, 1 needed" in told(checked("ready-conditions", history))[0]
    )


def test_a_pod_that_fails_is_not_ready_while_its_containers_still_end() -> None:
    """At its deadline: the phase is Running until the last container has exited."""
    fails = said(sidecar=True, app=True, containers_ready="False", ready="False", reason="PodFailed")
    assert "0 statuses with ContainersReady seen" in told(checked("ready-conditions", fails))[0]
    other = said(sidecar=True, app=True, containers_ready="False", ready="False", reason="ContainersNotReady")
    assert "FAIL: " in told(checked("ready-conditions", other))[0]


def test_a_pod_that_has_ended_and_is_said_to_be_ready_is_a_fail() -> None:
    history = said(sidecar=True, app=True, containers_ready="True", ready="True", phase="Succeeded")
    assert told(checked("ready-conditions", history)) == [
        f"FAIL: a status says that a pod in the phase Succeeded is ready (history line {history.line_of(Kind.STATUS)}); "
        "it has ended."
    ]
