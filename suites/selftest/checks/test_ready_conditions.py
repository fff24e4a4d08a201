"""The conditions Ready and ContainersReady of a pod follow `ready` of its containers."""

import msgspec

from crashloop.history.event import Kind
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.owner import StaticPod
from crashloop.spec.pod import Container, ContainerKind, RestartPolicy
from crashloop.spec.program import HOLDS
from crashloop.spec.scenario import PodScenario
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History, stamp

POD = scenario(
    Container(name="sidecar", kind=ContainerKind.INIT, restart_policy=RestartPolicy.ALWAYS, program=HOLDS), app()
)


def said(
    *,
    sidecar: bool,
    app: bool,
    containers_ready: str,
    ready: str,
    phase: str = "Running",
    reason: str = "",
    since: str | None = stamp(1.0),
) -> History:
    """A pod that runs, and one status of it."""
    history = History(POD).lives("sidecar", (0.5, None, 0), status=False).lives("app", (1.0, None, 0), status=False)
    containers = {
        "sidecar": history.running("sidecar", 0, 0.5) | {"ready": sidecar},
        "app": history.running("app", 0, 1.0) | {"ready": app},
    }
    conditions = [
        {"type": "ContainersReady", "status": containers_ready, "reason": reason, "lastTransitionTime": since},
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


def test_a_pod_that_is_not_ready_though_all_its_containers_are_is_a_fail() -> None:
    history = said(sidecar=True, app=True, containers_ready="True", ready="False")
    line = history.line_of(Kind.STATUS, 0)
    assert told(checked("ready-conditions", history)) == [
        f"FAIL: a status says that Ready of the pod is False (history line {line}); "
        "ContainersReady is True, and no readiness gate asks for more."
    ]


def test_a_condition_that_does_not_say_since_when_it_is_so_is_a_fail() -> None:
    history = said(sidecar=True, app=True, containers_ready="True", ready="True", since=None)
    line = history.line_of(Kind.STATUS, 0)
    assert told(checked("ready-conditions", history)) == [
        f"FAIL: a status gives no lastTransitionTime of ContainersReady (history line {line}); "
        "its kubelet knows since when it is so."
    ]


def test_a_pod_that_has_ended_is_not_judged() -> None:
    history = said(
        sidecar=True, app=True, containers_ready="False", ready="False", phase="Succeeded", reason="PodCompleted"
    )
    assert (
        "INCONCLUSIVE: 0 statuses with ContainersReady seen, 1 needed" in told(checked("ready-conditions", history))[0]
    )


def test_a_pod_that_has_succeeded_and_is_said_to_be_merely_unready_is_a_fail() -> None:
    history = said(
        sidecar=False,
        app=False,
        containers_ready="False",
        ready="False",
        phase="Succeeded",
        reason="ContainersNotReady",
    )
    assert told(checked("ready-conditions", history))[0] == (
        f"FAIL: a status says that a pod in the phase Succeeded is unready (history line {history.line_of(Kind.STATUS)}), "
        "and not that it has completed."
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


ALONE = scenario(app())


def turned(*stated: tuple[float, str, float], exit_s: float = 3.0, of: PodScenario = ALONE) -> History:
    """A life from 1 s to `exit_s`, and statuses: when, ContainersReady, and since when that is said to be so."""
    history = History(of).lives("app", (1.0, exit_s, 1), status=False)
    for at_s, ready, since_s in stated:
        report = history.running("app", 0, 1.0) if ready == "True" else history.exited("app", 0, 1.0, exit_s, 1)
        history.status(
            at_s,
            {"app": report | {"ready": ready == "True"}},
            conditions=[{"type": "ContainersReady", "status": ready, "lastTransitionTime": stamp(since_s)}],
        )
    return history.ends(10)


def test_a_transition_is_as_old_as_what_has_made_it() -> None:
    assert told(checked("ready-conditions", turned((2.0, "True", 1), (3.5, "False", 3), (5.0, "False", 3)))) == []


def test_a_transition_that_stays_though_the_container_has_ended_is_a_fail() -> None:
    history = turned((2.0, "True", 1), (3.5, "False", 1))
    first, second = history.line_of(Kind.STATUS, 0), history.line_of(Kind.STATUS, 1)
    assert told(checked("ready-conditions", history)) == [
        "FAIL: ContainersReady is said to be False since 2 s before a container made it so "
        f"(history lines {first} and {second})."
    ]


def test_a_transition_that_moves_though_nothing_has_changed_is_a_fail() -> None:
    history = turned((2.0, "True", 1), (3.5, "False", 3), (6.0, "False", 5))
    first, second = history.line_of(Kind.STATUS, 1), history.line_of(Kind.STATUS, 2)
    assert told(checked("ready-conditions", history)) == [
        f"FAIL: lastTransitionTime of ContainersReady moved by 2 s (history lines {first} and {second}); "
        "it stayed False, and no container had changed."
    ]


def test_a_container_that_ends_before_a_sync_has_seen_its_start_was_not_ready_again() -> None:
    history = History(ALONE).lives("app", (1.0, 3.0, 1), (4.0, 6.0, 1), status=False)
    stated = (
        (2.0, history.running("app", 0, 1.0), "True", 1),
        (3.5, history.exited("app", 0, 1.0, 3.0, 1), "False", 3),
        (7.0, history.exited("app", 1, 4.0, 6.0, 1), "False", 3),
    )
    for at_s, report, ready, since_s in stated:
        conditions = [{"type": "ContainersReady", "status": ready, "lastTransitionTime": stamp(since_s)}]
        history.status(at_s, {"app": report | {"ready": ready == "True"}}, conditions=conditions)
    assert told(checked("ready-conditions", history.ends(10))) == []


def test_a_kubelet_that_restarts_states_a_static_pod_anew() -> None:
    """The status of its mirror pod is not what the kubelet goes by."""
    for of, findings in ((ALONE, 1), (msgspec.structs.replace(ALONE, owner=StaticPod()), 0)):
        history = turned((2.0, "True", 1), (6.0, "True", 4), exit_s=9.0, of=of)
        history.intervention(4.0, InterventionKind.RESTART_KUBELET)
        assert len(told(checked("ready-conditions", history))) == findings


def test_what_the_kubelet_before_said_of_a_static_pod_may_come_after_its_end() -> None:
    history = turned(
        (4.5, "True", 1), (6.0, "True", 4), exit_s=9.0, of=msgspec.structs.replace(ALONE, owner=StaticPod())
    )
    assert told(checked("ready-conditions", history.intervention(4.0, InterventionKind.RESTART_KUBELET))) == []
