"""Events reach the histories of the scenarios that they concern, and only while those are recorded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest

from crashloop.cluster.provider import Capability, ClusterInfo, Node
from crashloop.history.event import Channel, Event, Kind
from crashloop.history.jsonl import Numbered
from crashloop.kube.watch import PodObject
from crashloop.record.channels.api import take_pod
from crashloop.record.channels.events import gap, recorder_event
from crashloop.record.event_router import EventRouter
from crashloop.record.nodes import node_event
from crashloop.record.scenario_recording import ScenarioRecording, end_events
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import Container, Intervention, InterventionKind, Pod, PodScenario, Trigger, Until
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
    def __call__(self, name: str, *, node: str = "node", **changes: Any) -> ScenarioRecording: ...


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Begins scenarios, each with a pod of its name; what the test leaves open is closed."""
    all_begun: list[ScenarioRecording] = []

    def begun(name: str, *, node: str = "node", **changes: Any) -> ScenarioRecording:
        scenario = PodScenario(
            name=name,
            profile="stock",
            pod=Pod(containers=(Container(program=exits_with(1, times=9)),)),
            until=Until(restarts={"app": 1}),
        )
        watched = ScenarioRecording(
            msgspec.structs.replace(scenario, **changes), Node(name=node, profile="stock"), CLUSTER, PROFILE
        )
        watched.begin(tmp_path / f"{name}.jsonl", node_event(node, PROFILE, None, None))
        watched.created(f"uid-{name}")
        all_begun.append(watched)
        return watched

    yield begun
    for watched in all_begun:
        assert watched.file is not None
        watched.file.seal(())


def written(watched: ScenarioRecording) -> list[Event]:
    """What was written behind the begin, clock and node events."""
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


def reported(name: str, version: int, *, restarts: int = 0) -> PodObject:
    container = {"name": "app", "restartCount": restarts, "state": {"running": {}}, "lastState": {}}
    raw = {
        "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version)},
        "status": {"phase": "Running", "containerStatuses": [container]},
    }
    return msgspec.json.decode(msgspec.json.encode(raw), type=PodObject)


@pytest.fixture
def session() -> EventRouter:
    return EventRouter()


def test_what_concerns_a_pod_a_node_or_everyone_reaches_just_those(begin: Begin, session: EventRouter) -> None:
    here, there = begin("here", node="one"), begin("there", node="two")
    session.watch((here, there))
    session.pod("here", runtime(Kind.STARTED, 1, "here"))
    session.pod("stranger", runtime(Kind.STARTED, 2, "stranger"))
    session.node("two", gap(Channel.RUNTIME, from_ns=1, to_ns=2, reason="lost"))
    session.everyone(recorder_event(Kind.STALL, 3, {"stalled_ns": 1}))
    assert [event.kind for event in written(here)] == [Kind.STARTED, Kind.STALL]
    assert [event.kind for event in written(there)] == [Kind.GAP, Kind.STALL]


def test_a_sealed_history_takes_nothing_more(begin: Begin, session: EventRouter) -> None:
    watched = begin("s")
    session.watch((watched,))
    assert watched.file is not None
    watched.file.seal(end_events("complete", "done"))
    session.pod("s", runtime(Kind.STARTED, 1, "s"))
    assert [event.kind for event in written(watched)] == [Kind.CLOCK, Kind.END]
    assert watched.starts("app") == 0


def test_a_status_that_a_list_repeats_is_written_once(begin: Begin, session: EventRouter) -> None:
    watched = begin("s")
    session.watch((watched,))
    for version in (5, 5, 6):
        take_pod(session, reported("s", version), received_ns=7)
    take_pod(session, reported("stranger", 8), received_ns=7)
    assert [(event.kind, event.data["resource_version"]) for event in written(watched)] == [
        (Kind.STATUS, "5"),
        (Kind.STATUS, "6"),
    ]


def test_a_scenario_is_complete_once_the_statuses_tell_what_the_runtime_showed(begin: Begin) -> None:
    watched = begin("s")
    session = EventRouter()
    session.watch((watched,))
    for t_ns in (1, 3):
        session.pod("s", runtime(Kind.STARTED, t_ns, "s"))
        assert not watched.is_complete()
        session.pod("s", runtime(Kind.EXITED, t_ns + 1, "s"))
    assert watched.missing() == ()
    assert not watched.is_complete(), "no status tells of the restart yet"
    take_pod(session, reported("s", 5, restarts=1), received_ns=9)
    assert watched.is_complete()


def test_an_intervention_comes_due_once(begin: Begin) -> None:
    def at(**trigger: Any) -> Intervention:
        return Intervention(trigger=Trigger(**trigger), action=InterventionKind.ANNOTATE)

    watched = begin(
        "s",
        interventions=(at(container="app", after_restart=0), at(after_s=1000), at(container="app", after_restart=1)),
    )
    assert watched.due_interventions() == []
    watched.take(runtime(Kind.EXITED, 1, "s"))
    assert watched.due_interventions() == [0]
    assert watched.due_interventions() == []
