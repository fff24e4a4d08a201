"""The control channels have runtime and API server do what a kubelet asks of them, without one, and report how long that took.

One control start serves all refusals of a node, and is marked as what it is.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crashloop.cluster.kubelets import candidate_event
from crashloop.history.event import Event, Kind
from crashloop.kube.client import KubeApi
from crashloop.pods.manifest import API_CONTROL
from crashloop.record.channels.api import API_CONTROL_ANNOTATION, ApiChannel, ApiControlChannel
from crashloop.record.channels.channel import now_ns
from crashloop.record.channels.runtime import ControlChannel
from crashloop.record.event_router import EventRouter
from crashloop.record.site import ControlStarts
from crashloop.waiting import wait_until
from suites.selftest.kit import kube_peer
from suites.selftest.kit.containerd_peer import Peer
from suites.selftest.kit.kube_peer import HANG, change, pod, pod_list
from suites.selftest.kit.node_sink import NodeSink
from suites.selftest.kit.object_peer import ObjectPeer, serving


@pytest.fixture
def channel(tmp_path: Path) -> Iterator[tuple[ControlChannel, Peer, NodeSink]]:
    peer, sink = Peer(tmp_path / "containerd.sock"), NodeSink()
    control = ControlChannel("node-1", peer.socket, sink)
    yield control, peer, sink
    control.stop()


def test_a_control_container_is_made_measured_and_removed(channel: tuple[ControlChannel, Peer, NodeSink]) -> None:
    control, peer, sink = channel
    peer.start()
    control.start()
    wait_until("a control container to be removed", lambda: len(peer.calls) >= 6, timeout_s=60, every_s=0.05)
    control.stop()
    peer.stop()
    assert peer.calls[:6] == [
        "crashloop Prepare control-1",
        "crashloop Create control-1",
        "k8s.io ListPodSandbox",
        "k8s.io ListContainers",
        "crashloop Delete control-1",
        "crashloop Remove control-1",
    ]
    node, event = sink.events[0]
    assert (node, event.node, event.kind) == ("node-1", "node-1", Kind.CONTROL)
    assert event.data["create_ns"] > 0
    assert event.data["list_ns"] > 0


def test_a_snapshot_that_the_garbage_collector_has_removed_is_no_trouble(
    channel: tuple[ControlChannel, Peer, NodeSink], caplog: pytest.LogCaptureFixture
) -> None:
    control, peer, sink = channel
    peer.collects_snapshots = True
    peer.start()
    control.start()
    wait_until("two control containers", lambda: len(sink.events) >= 2, timeout_s=60, every_s=0.05)
    assert caplog.messages == []
    control.stop()
    peer.stop()


def test_a_runtime_that_does_not_answer_is_tried_again(channel: tuple[ControlChannel, Peer, NodeSink]) -> None:
    control, peer, sink = channel
    control.start()
    peer.start()
    wait_until("a control container", lambda: bool(sink.events), timeout_s=60, every_s=0.05)
    control.stop()
    peer.stop()


class EveryoneSink(NodeSink):
    def __init__(self) -> None:
        super().__init__()
        self.of_everyone: list[Event] = []

    def everyone(self, event: Event) -> None:
        self.of_everyone.append(event)


def test_a_patch_of_the_recorder_is_measured_until_the_watch_has_brought_it(tmp_path: Path) -> None:
    peer, kept = ObjectPeer(), EveryoneSink()
    with serving(peer, tmp_path) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        control = ApiControlChannel(api, "ns", "run", lambda _: now_ns(), kept)
        control.start()
        wait_until("a patch that was measured", lambda: bool(kept.of_everyone), timeout_s=60, every_s=0.05)
        control.stop()
    event = kept.of_everyone[0]
    assert (event.kind, event.node, event.data["took_ns"] > 0) == (Kind.API_CONTROL, None, True)
    path = "/api/v1/namespaces/ns/pods/api-control"
    assert [peer.requests[0], peer.requests[1], peer.requests[-1]] == [
        f"{each} {path}" for each in ("POST", "PATCH", "DELETE")
    ]


def test_the_watch_hands_the_recorders_own_patch_on_and_records_no_status_of_it(tmp_path: Path) -> None:
    own = pod(API_CONTROL, 6)
    own["metadata"]["annotations"] = {API_CONTROL_ANNOTATION: "7"}
    peer = kube_peer.Peer([pod_list(5)], [[change("MODIFIED", own), change("DELETED", own), HANG]])
    with kube_peer.serving(peer, tmp_path) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        watch = ApiChannel(api, "ns", label_selector="run", session=EventRouter())
        watch.start()
        assert watch.control_came_ns("7") is not None
        watch.stop()


class Starts:
    """Kubelets that become healthy, counted."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> tuple[Event, ...]:
        self.count += 1
        return (candidate_event("node-1", Kind.PROCESS_HEALTHY, configz={"number": self.count}),)


def test_a_control_start_is_made_once_per_node_and_profile() -> None:
    controls, start = ControlStarts(), Starts()
    first = controls.of("node-1", "valid", start)
    assert controls.of("node-1", "valid", start) == first
    assert start.count == 1
    controls.of("node-2", "valid", start)
    controls.of("node-1", "other", start)
    assert start.count == 3


def test_its_events_name_their_profile() -> None:
    (event,) = ControlStarts().of("node-1", "valid", Starts())
    assert (event.kind, event.data) == (Kind.PROCESS_HEALTHY, {"configz": {"number": 1}, "control": "valid"})


def test_one_that_could_not_be_made_is_tried_again() -> None:
    controls, start = ControlStarts(), Starts()

    def fail() -> tuple[Event, ...]:
        raise OSError("no room")

    try:
        controls.of("node-1", "valid", fail)
    except OSError:
        assert len(controls.of("node-1", "valid", start)) == 1
    assert start.count == 1
