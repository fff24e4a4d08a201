"""The simulated kubelet makes a deleted mirror pod again, and another pod of an edited file."""

from random import Random

from crashloop.history.event import Channel, Event, Kind
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.owner import StaticPod
from crashloop.spec.pod import Container, Pod
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, Until
from sim import Fault, simulate
from sim.behaviour import S
from sim.faults import StaticPodFault, behaviour_of
from suites.selftest.kit import sim_kit as sim

EDIT, UNMIRROR = InterventionKind.EDIT_STATIC_POD, InterventionKind.DELETE_MIRROR_POD


def played(action: InterventionKind, *faults: Fault, seed: int = 1) -> tuple[Event, ...]:
    """A static pod that crashes for ever; after its third exit it is edited, or its mirror pod is deleted."""
    scenario = PodScenario(
        name="scenario",
        profile="profile",
        owner=StaticPod(),
        pod=Pod(containers=(Container(program=exits_with(1, after_s=1, times=20)),)),
        until=Until(at_least_s=60, at_most_s=60),
        interventions=(Intervention(trigger=Trigger(container="app", after_restart=2), action=action),),
    )
    return simulate(scenario, sim.profile("10s"), sim.V1_37, rng=Random(seed), behaviour=behaviour_of(faults))


def mirrors(events: tuple[Event, ...]) -> list[str]:
    return [event.data["phase"] for event in sim.of(events, Channel.API, Kind.MIRROR)]


def start_times(events: tuple[Event, ...]) -> set[str]:
    statuses = (event.data["status"] for event in sim.of(events, Channel.API, Kind.STATUS))
    return {each["startTime"] for each in statuses if "startTime" in each}


def starts_s(events: tuple[Event, ...], uid: str) -> list[float]:
    started = [event for event in sim.of(events, Channel.RUNTIME, Kind.STARTED) if event.container == "app"]
    return [event.t_ns / S for event in started if event.pod_uid == uid]


def uids(events: tuple[Event, ...]) -> list[str]:
    return list(dict.fromkeys(event.pod_uid or "" for event in sim.of(events, Channel.API, Kind.MIRROR)))


def test_a_deleted_mirror_pod_comes_back_and_the_pod_runs_on() -> None:
    events = played(UNMIRROR)
    assert mirrors(events) == ["created", "deleted", "created"]
    (uid,) = uids(events)
    assert len(starts_s(events, uid)) > 4
    shown = [event.data["mirror_uid"] for event in sim.of(events, Channel.API, Kind.MIRROR)]
    assert shown[0] == shown[1] != shown[2]


def test_a_mirror_pod_of_a_forgetful_kubelet_stays_away() -> None:
    assert mirrors(played(UNMIRROR, StaticPodFault.MIRROR_GONE)) == ["created", "deleted"]


def test_an_edited_static_pod_is_another_that_begins_at_the_start() -> None:
    events = played(EDIT)
    old, new = uids(events)
    first, second, *_ = starts_s(events, new)
    assert first - starts_s(events, old)[-1] > 10
    assert second - first < 5


def test_a_counter_that_outlives_the_edit_holds_the_first_restart_back() -> None:
    events = played(EDIT, StaticPodFault.STATIC_KEEPS_COUNTER)
    first, second, *_ = starts_s(events, uids(events)[1])
    assert second - first > 10


def test_the_start_time_of_a_static_pod_may_move_once_its_mirror_pod_has_come_back() -> None:
    """pkg/kubelet/status/status_manager.go@v1.37.1 syncPod: what is stated in a mirror pod that it does not know is forgotten."""
    moved = {len(start_times(played(UNMIRROR, seed=seed))) > 1 for seed in range(8)}
    assert moved == {False, True}
