"""Events reach the histories of the scenarios that they concern, and only while those are recorded."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol, cast

import msgspec
import pytest

from crashloop.cluster.provider import Capability, ClusterInfo, Node
from crashloop.errors import ClusterError, ProcessEnded
from crashloop.history.event import Channel, Event, Kind
from crashloop.history.jsonl import Numbered
from crashloop.kube.client import KubeApi
from crashloop.kube.watch import PodObject
from crashloop.pods.manifest import SCENARIO_LABEL
from crashloop.record.channels.api import take_pod
from crashloop.record.channels.containerd import api_pb2
from crashloop.record.channels.events import gap, recorder_event
from crashloop.record.config_objects import ConfigObjects
from crashloop.record.event_router import HELD_EVENTS, EventRouter
from crashloop.record.history_ends import begin_event, end_events, start_history
from crashloop.record.interventions import Interventions
from crashloop.record.nodes import node_event
from crashloop.record.pod_recording import PodRecording
from crashloop.record.pods import Pods
from crashloop.record.registry_images import ScenarioImages
from crashloop.record.site import RecordingSite
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, Pod
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.containerd_peer import Peer, labels, stamp
from suites.selftest.kit.history_lines import read_events

PROFILE = KubeletProfile(name="stock")
CLUSTER = ClusterInfo(
    name="c",
    provider="p",
    kubernetes_version="1.37.1",
    kubeconfig="k",
    nodes=(),
    capabilities=frozenset({Capability.RUNTIME_EVENTS}),
    image="localhost/program:1",
)


class Begin(Protocol):
    def __call__(self, name: str, *, node: str = "node", **changes: Any) -> PodRecording: ...


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Begins scenarios; what the test leaves open is closed."""
    all_begun: list[PodRecording] = []

    def begun(name: str, *, node: str = "node", **changes: Any) -> PodRecording:
        scenario = PodScenario(
            name=name,
            profile="stock",
            pod=Pod(containers=(Container(program=exits_with(1, times=9)),)),
            until=Until(restarts={"app": 1}),
        )
        scenario = msgspec.structs.replace(scenario, **changes)
        watched = PodRecording(scenario, Node(name=node, profile="stock"), CLUSTER)
        first = begin_event(scenario, node=node, kubernetes_version="1.37.1", profile=PROFILE, feature_gates={})
        watched.begin(start_history(tmp_path / f"{name}.jsonl", first, node_event(node, PROFILE, None, None)))
        all_begun.append(watched)
        return watched

    yield begun
    for watched in all_begun:
        assert watched.file is not None
        watched.file.seal(())


def written(watched: PodRecording) -> list[Event]:
    """The events written after the begin, clock and node events."""
    assert watched.file is not None
    with watched.file.path.open("rb") as lines:
        events = [each.event for each in read_events(lines) if isinstance(each, Numbered)]
    assert [event.kind for event in events[:3]] == [Kind.BEGIN, Kind.CLOCK, Kind.NODE]
    return events[3:]


def runtime(kind: Kind, t_ns: int, pod: str) -> Event:
    return Event(
        seq=0,
        t_ns=t_ns,
        received_ns=t_ns,
        channel=Channel.RUNTIME,
        kind=kind,
        pod_uid=f"uid-{pod}",
        container="app",
    )


def reported(name: str, version: int, *, scenario: str | None = "s", restarts: int = 0) -> PodObject:
    """A pod as the API server reports it, with the label of a scenario."""
    container = {"name": "app", "restartCount": restarts, "state": {"running": {}}, "lastState": {}}
    labels = {} if scenario is None else {SCENARIO_LABEL: scenario}
    raw = {
        "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version), "labels": labels},
        "status": {"phase": "Running", "containerStatuses": [container]},
    }
    return msgspec.json.decode(msgspec.json.encode(raw), type=PodObject)


@pytest.fixture
def router() -> EventRouter:
    return EventRouter()


def test_what_concerns_a_pod_a_node_or_everyone_reaches_just_those(begin: Begin, router: EventRouter) -> None:
    here, there = begin("here", node="one"), begin("there", node="two")
    router.watch((here, there))
    router.claim("uid-here", "here", "here")
    router.pod("here", runtime(Kind.STARTED, 1, "here"))
    router.pod("stranger", runtime(Kind.STARTED, 2, "stranger"))
    router.node("two", gap(Channel.RUNTIME, from_ns=1, to_ns=2, reason="lost"))
    router.everyone(recorder_event(Kind.STALL, 3, {"stalled_ns": 1}))
    assert [event.kind for event in written(here)] == [Kind.STARTED, Kind.STALL]
    assert [event.kind for event in written(there)] == [Kind.GAP, Kind.STALL]


def test_what_is_said_of_a_pod_before_its_uid_is_known_is_held_back(begin: Begin, router: EventRouter) -> None:
    watched = begin("s")
    router.watch((watched,))
    for t_ns, kind in enumerate((Kind.CREATED, Kind.STARTED, Kind.EXITED)):
        router.pod("s", runtime(kind, t_ns, "s"))
    assert written(watched) == []
    router.claim("uid-s", "s", "s")
    router.pod("s", runtime(Kind.REMOVED, 9, "s"))
    assert [event.kind for event in written(watched)] == [Kind.CREATED, Kind.STARTED, Kind.EXITED, Kind.REMOVED]
    assert watched.starts("app", "uid-s") == 1


def test_pods_that_others_have_made_belong_to_the_scenario_of_their_label(begin: Begin, router: EventRouter) -> None:
    watched = begin("job")
    router.watch((watched,))
    router.pod("job-x7k2p", runtime(Kind.STARTED, 1, "job-x7k2p"))
    for pod in ("job-x7k2p", "job-9qzzf"):
        take_pod(router, reported(pod, 5, scenario="job"), received_ns=7)
    router.pod("job-9qzzf", runtime(Kind.STARTED, 2, "job-9qzzf"))
    assert [(event.kind, event.pod_uid) for event in written(watched)] == [
        (Kind.STARTED, "uid-job-x7k2p"),
        (Kind.STATUS, "uid-job-x7k2p"),
        (Kind.STATUS, "uid-job-9qzzf"),
        (Kind.STARTED, "uid-job-9qzzf"),
    ]
    assert watched.pods == {"uid-job-x7k2p": "job-x7k2p", "uid-job-9qzzf": "job-9qzzf"}


def test_a_pod_that_bears_the_name_of_a_scenario_is_not_its_pod(begin: Begin, router: EventRouter) -> None:
    watched = begin("s")
    router.watch((watched,))
    take_pod(router, reported("s", 5, scenario="another"), received_ns=7)
    router.pod("s", runtime(Kind.STARTED, 1, "s"))
    assert written(watched) == []


def test_a_pod_of_no_scenario_is_reported_once(
    begin: Begin, router: EventRouter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr("crashloop.record.event_router.HELD_S", 0.0)
    router.watch((begin("s"),))
    take_pod(router, reported("labelled", 5, scenario="elsewhere"), received_ns=7)
    for _ in range(3):
        router.pod("labelled", runtime(Kind.STARTED, 1, "labelled"))
    monkeypatch.setattr("crashloop.record.event_router.HELD_S", 60.0)
    router.pod("silent", runtime(Kind.STARTED, 1, "silent"))
    monkeypatch.setattr("crashloop.record.event_router.HELD_S", 0.0)
    for _ in range(2):
        router.everyone(recorder_event(Kind.STALL, 3, {"stalled_ns": 1}))
    assert [record.message for record in caplog.records] == [
        "pod labelled belongs to no scenario; what happens to it is not recorded",
        "pod silent belongs to no scenario; what happens to it is not recorded",
    ]


def test_what_was_dropped_before_a_pod_was_known_is_a_gap_in_its_history(begin: Begin, router: EventRouter) -> None:
    watched = begin("s")
    router.watch((watched,))
    for t_ns in range(1, HELD_EVENTS + 3):
        router.pod("s", runtime(Kind.STARTED, t_ns, "s"))
    router.claim("uid-s", "s", "s")
    first, *held = written(watched)
    assert (first.kind, first.data["channel"], first.data["from_ns"]) == (Kind.GAP, "runtime", HELD_EVENTS + 1)
    assert first.data["lost"] is True
    assert [event.t_ns for event in held] == list(range(1, HELD_EVENTS + 1))


def test_a_sealed_history_takes_nothing_more(begin: Begin, router: EventRouter) -> None:
    watched = begin("s")
    router.watch((watched,))
    router.claim("uid-s", "s", "s")
    watched.seal(end_events("complete", "done"))
    router.pod("s", runtime(Kind.STARTED, 1, "s"))
    router.unwatch("s")
    router.pod("s", runtime(Kind.EXITED, 2, "s"))
    assert [event.kind for event in written(watched)] == [Kind.CLOCK, Kind.END]
    assert watched.starts("app", "uid-s") == 0


def test_a_status_that_a_list_repeats_is_written_once(begin: Begin, router: EventRouter) -> None:
    watched = begin("s")
    router.watch((watched,))
    for version in (5, 5, 6):
        take_pod(router, reported("s", version), received_ns=7)
    take_pod(router, reported("stranger", 8, scenario=None), received_ns=7)
    assert [(event.kind, event.data["resource_version"]) for event in written(watched)] == [
        (Kind.STATUS, "5"),
        (Kind.STATUS, "6"),
    ]


def test_a_scenario_is_complete_once_the_statuses_tell_what_the_runtime_showed(
    begin: Begin, router: EventRouter
) -> None:
    watched = begin("s")
    router.watch((watched,))
    router.claim("uid-s", "s", "s")
    for t_ns in (1, 3):
        router.pod("s", runtime(Kind.STARTED, t_ns, "s"))
        assert not watched.is_complete()
        router.pod("s", runtime(Kind.EXITED, t_ns + 1, "s"))
    assert watched.missing() == ()
    assert not watched.is_complete(), "no status shows the restart yet"
    take_pod(router, reported("s", 5, restarts=1), received_ns=9)
    assert watched.is_complete()


def test_the_quiet_begins_anew_with_each_exit(
    begin: Begin, router: EventRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [100.0]
    monkeypatch.setattr("crashloop.record.pod_recording.time.monotonic", lambda: now_s[0])
    watched = begin("s", until=Until(exits={"app": 1}, quiet_s=64))
    router.watch((watched,))
    router.claim("uid-s", "s", "s")

    def lives(t_ns: int) -> None:
        router.pod("s", runtime(Kind.STARTED, t_ns, "s"))
        router.pod("s", runtime(Kind.EXITED, t_ns + 1, "s"))

    lives(1)
    assert not watched.is_complete()
    now_s[0] += 60
    lives(3)
    assert not watched.is_complete()
    now_s[0] += 60
    assert not watched.is_complete(), "120 s after the exit it waited for, but only 60 s after another"
    now_s[0] += 4
    assert watched.is_complete()


class Acts:
    """The one method of a cluster that the test needs."""

    def __init__(self) -> None:
        self.restarted: list[str] = []
        self.written: list[str] = []

    def write_kubelet_config(self, node: str, profile: KubeletProfile) -> None:
        self.written.append(f"{node} {profile.name}")

    def restart_kubelet(
        self, node: str, *, kill: bool = False, down_s: float = 0.0, profile: KubeletProfile | None = None
    ) -> None:
        self.restarted.append(f"{node} {kill} {down_s:g} {profile.name if profile else ''}".rstrip())
        if profile is not None and profile.name == "max-301s":
            raise ProcessEnded("kubelet ended with exit code 1")
        if kill:
            raise ClusterError("kubelet of node: it does not start again")


class Facts:
    """What interventions tell the facts about a node."""

    def __init__(self) -> None:
        self.spoilt: list[tuple[str, str]] = []
        self.written: list[str] = []

    def spoil(self, node: str, why: str) -> None:
        self.spoilt.append((node, why))

    def write(self, _: str, profile: str) -> KubeletProfile:
        self.written.append(profile)
        return KubeletProfile(name=profile)

    def restarts(self, node: str) -> None:
        self.written.append(f"{node} restarts")


def acting_on(cluster: Acts, router: EventRouter, facts: Facts | None = None) -> Interventions:
    api = cast("KubeApi", None)
    given = SimpleNamespace(
        api=api, namespace="ns", cluster=cluster, router=router, facts=facts or Facts(), label="run"
    )
    site = cast("RecordingSite", given)
    return Interventions(
        site,
        pods=cast("Pods", None),
        objects=ConfigObjects(api, "ns", run="run"),
        images=cast("ScenarioImages", None),
    )


def test_a_kubelet_is_restarted_with_another_profile(begin: Begin, router: EventRouter) -> None:
    restart = Intervention(
        trigger=Trigger(), action=InterventionKind.RESTART_KUBELET, arguments={"profile": "max-10s", "down_s": 2}
    )
    acting, cluster = begin("acting", interventions=(restart,)), Acts()
    acting_on(cluster, router).carry_out(acting, 0)
    assert cluster.restarted == ["node False 2 max-10s"]
    (own,) = written(acting)
    assert (own.data["outcome"], own.data["arguments"]["profile"]) == ("ok", "max-10s")


def test_a_configuration_is_written_for_a_kubelet_that_runs_on(begin: Begin, router: EventRouter) -> None:
    write = Intervention(
        trigger=Trigger(), action=InterventionKind.WRITE_KUBELET_CONFIG, arguments={"profile": "max-10s"}
    )
    acting, cluster, facts = begin("acting", interventions=(write,)), Acts(), Facts()
    acting_on(cluster, router, facts).carry_out(acting, 0)
    assert (cluster.written, cluster.restarted, facts.written) == (["node max-10s"], [], ["max-10s"])


def test_a_refusal_that_is_expected_is_the_outcome_and_spoils_nothing(begin: Begin, router: EventRouter) -> None:
    arguments = {"profile": "max-301s", "refused": True}
    refused = Intervention(trigger=Trigger(), action=InterventionKind.RESTART_KUBELET, arguments=arguments)
    acting, facts = begin("acting", interventions=(refused,)), Facts()
    acting_on(Acts(), router, facts).carry_out(acting, 0)
    (own,) = written(acting)
    assert own.data["outcome"] == "refused: kubelet ended with exit code 1"
    assert facts.spoilt == []


def test_a_refusal_that_nobody_expects_spoils_the_node(begin: Begin, router: EventRouter) -> None:
    restart = Intervention(
        trigger=Trigger(), action=InterventionKind.RESTART_KUBELET, arguments={"profile": "max-301s"}
    )
    facts = Facts()
    acting_on(Acts(), router, facts).carry_out(begin("acting", interventions=(restart,)), 0)
    assert facts.spoilt == [("node", "kubelet ended with exit code 1")]


def test_a_node_that_an_intervention_has_left_broken_is_spoilt(begin: Begin, router: EventRouter) -> None:
    kill = Intervention(trigger=Trigger(), action=InterventionKind.KILL_KUBELET)
    acting = begin("acting", interventions=(kill,))
    facts = Facts()
    acting_on(Acts(), router, facts).carry_out(acting, 0)
    (own,) = written(acting)
    assert own.data["outcome"] == "kubelet of node: it does not start again"
    assert facts.spoilt == [("node", "kubelet of node: it does not start again")]


def test_what_is_done_to_a_node_is_written_into_the_history_of_every_scenario_there(
    begin: Begin, router: EventRouter
) -> None:
    restart = Intervention(trigger=Trigger(), action=InterventionKind.RESTART_KUBELET, arguments={"down_s": 2.0})
    acting, beside, elsewhere = begin("acting", interventions=(restart,)), begin("beside"), begin("far", node="two")
    router.watch((acting, beside, elsewhere))
    cluster = Acts()
    hands = acting_on(cluster, router)
    hands.carry_out(acting, 0)
    assert cluster.restarted == ["node False 2"]
    (own,), (other,) = written(acting), written(beside)
    assert (own.kind, own.data["action"], own.data["index"]) == (Kind.INTERVENTION, "restart-kubelet", 0)
    assert "scenario" not in own.data
    assert (other.data["action"], other.data["index"], other.data["scenario"]) == ("restart-kubelet", None, "acting")
    assert (other.t_ns, other.data["ended_ns"]) == (own.t_ns, own.data["ended_ns"])
    assert written(elsewhere) == []


def test_an_intervention_comes_due_once(begin: Begin) -> None:
    def at(**trigger: Any) -> Intervention:
        return Intervention(trigger=Trigger(**trigger), action=InterventionKind.ANNOTATE)

    watched = begin(
        "s",
        interventions=(at(container="app", after_restart=0), at(after_s=1000), at(container="app", after_restart=1)),
    )
    watched.joined("uid-s", "s")
    assert watched.due_interventions() == []
    watched.take(runtime(Kind.EXITED, 1, "s"))
    assert watched.due_interventions() == [0]
    assert watched.due_interventions() == []


def test_the_newest_sandbox_of_the_pod_is_killed(begin: Begin, router: EventRouter, tmp_path: Path) -> None:
    peer = Peer(tmp_path / "socket")
    for identity, created_ns in (("first", 1), ("second", 2), ("of-another", 3)):
        pod = "other" if identity == "of-another" else "s"
        peer.containers[identity] = api_pb2.Container(
            id=identity, labels=labels(pod, None), created_at=stamp(created_ns)
        )
    peer.start()
    kill = Intervention(trigger=Trigger(), action=InterventionKind.KILL_SANDBOX)
    acting = begin("s", interventions=(kill,))
    acting.joined("uid-s", "s")
    acting.node = msgspec.structs.replace(acting.node, runtime_socket=peer.socket)
    try:
        acting_on(Acts(), router).carry_out(acting, 0)
    finally:
        peer.stop()
    assert peer.calls == ["k8s.io Kill second 9"]
    assert written(acting)[0].data["outcome"] == "ok"


def test_a_sandbox_out_of_reach_is_reported(begin: Begin, router: EventRouter) -> None:
    kill = Intervention(trigger=Trigger(), action=InterventionKind.KILL_SANDBOX)
    acting = begin("s", interventions=(kill,))
    acting_on(Acts(), router).carry_out(acting, 0)
    assert written(acting)[0].data["outcome"] == "node node: its runtime cannot be reached from here."
