"""What the simulated kubelet states of a pod that its deadline or a deletion ends, while its containers still end."""

from typing import Any

from crashloop.history.event import Channel, Event, Kind
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container
from crashloop.spec.program import HOLDS
from suites.selftest.kit import sim_kit as sim


def said(events: tuple[Event, ...]) -> list[dict[str, Any]]:
    """Of each status: phase, readiness of the container, ContainersReady with its reason, whether it is being deleted."""
    found = []
    for event in sim.of(events, Channel.API, Kind.STATUS):
        status = event.data["status"]
        for each in status.get("conditions", ()):
            if each["type"] == "ContainersReady":
                (app,) = status["containerStatuses"]
                found.append(
                    {
                        "phase": status["phase"],
                        "ready": app["ready"],
                        "condition": each["status"],
                        "reason": each.get("reason", ""),
                        "deleting": "deletion" in event.data,
                    }
                )
    return found


def test_a_pod_past_its_deadline_is_not_ready_while_its_containers_are() -> None:
    """pkg/kubelet/status/status_manager.go@v1.37.1 mergePodStatus: the phase waits for the containers, the conditions do not."""
    *_, ready, failing, failed = said(
        sim.simulated(sim.pod_of(Container(program=HOLDS), active_deadline_s=10, watch_s=20))
    )
    running = {"phase": "Running", "ready": True, "deleting": False}
    assert ready == running | {"condition": "True", "reason": ""}
    assert failing == running | {"condition": "False", "reason": "PodFailed"}
    assert failed == {
        "phase": "Failed",
        "ready": False,
        "condition": "False",
        "reason": "PodFailed",
        "deleting": False,
    }


def test_a_pod_that_is_deleted_says_so_before_its_containers_end() -> None:
    deletion = Intervention(trigger=Trigger(after_s=5.0), action=InterventionKind.DELETE_POD)
    *_, ready, deleting, ended = said(
        sim.simulated(sim.pod_of(Container(program=HOLDS), interventions=(deletion,), watch_s=20))
    )
    assert not ready["deleting"]
    assert deleting == ready | {"deleting": True}
    assert (ended["phase"], ended["ready"], ended["reason"], ended["deleting"]) == ("Failed", False, "PodFailed", True)


def test_a_condition_says_since_when_it_is_what_it_is() -> None:
    """A status that says the same has the same time."""
    events = sim.simulated(sim.crashing(2, run_s=3.0), "2s")
    times = {
        (each["status"], each["lastTransitionTime"])
        for event in sim.of(events, Channel.API, Kind.STATUS)
        for each in event.data["status"].get("conditions", ())
        if each["type"] == "ContainersReady"
    }
    lives = 3
    assert len([when for status, when in times if status == "True"]) == lives
