"""The control channel has the runtime create and list, where no kubelet looks, and reports how long that took."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crashloop.history.event import Kind
from crashloop.record.channels.runtime import ControlChannel
from crashloop.waiting import wait_until
from suites.selftest.kit.containerd_peer import Peer
from suites.selftest.kit.node_sink import NodeSink


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
