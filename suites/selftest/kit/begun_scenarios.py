"""Scenarios whose recording has begun, without a cluster: events are given to them, and read back from their histories."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from crashloop.cluster.provider import Capability, Node
from crashloop.history.event import Channel, Event, Kind, Numbered
from crashloop.record.event_router import PodRecording
from crashloop.record.history_file import begin_event, start_history
from crashloop.record.site import node_event
from crashloop.spec.pod import Container, Pod
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.history_lines import read_events
from suites.selftest.kit.recording_site import cluster_info

PROFILE = KubeletProfile(name="stock")
CLUSTER = cluster_info(capabilities=frozenset({Capability.RUNTIME_EVENTS}))


class Begin(Protocol):
    def __call__(self, name: str, *, node: str = "node", **changes: Any) -> PodRecording: ...


@contextmanager
def scenarios_begun(folder: Path) -> Iterator[Begin]:
    """Begins scenarios; what is left open in the end is closed."""
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
        watched.begin(start_history(folder / f"{name}.jsonl", first, node_event(node, PROFILE, None, None)))
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
