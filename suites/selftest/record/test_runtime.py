"""The runtime channel turns containerd's events into those of the pods, and reports what it may have missed.

The generated protobuf code is what the committed .proto generates.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crashloop.history.event import Channel, Event, Kind
from crashloop.record.channels.channel import Sink
from crashloop.record.channels.containerd import api_pb2, wire
from crashloop.record.channels.containerd.wire import Topic
from crashloop.record.channels.runtime import RuntimeChannel
from crashloop.waiting import wait_until
from suites.selftest.kit.containerd_peer import Peer, labels


class Heard(Sink):
    """What a channel told, by pod; the node's own events under its name."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Event]] = []

    def pod(self, pod: str, event: Event) -> None:
        self.events.append((pod, event))

    def node(self, node: str, event: Event) -> None:
        self.events.append((node, event))

    def everyone(self, event: Event) -> None:
        raise AssertionError(f"the runtime of one node has nothing to tell everyone, but told {event}")

    def wait_for(self, count: int) -> list[tuple[str, Event]]:
        wait_until(
            f"{count} events",
            lambda: len(self.events) >= count,
            timeout_s=60,
            every_s=0.01,
            last_seen=lambda: str(self.events),
        )
        assert len(self.events) == count
        return self.events


@pytest.fixture
def peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    monkeypatch.setattr(wire, "ANSWER_S", 60.0)
    peer = Peer(tmp_path / "containerd.sock")
    peer.start()
    yield peer
    peer.stop()


@contextmanager
def following(peer: Peer) -> Iterator[tuple[RuntimeChannel, Heard]]:
    heard = Heard()
    channel = RuntimeChannel("node", peer.socket, "ns", heard)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "CONNECT_S", 60.0)  # a second attempt would be a gap
        channel.start()
        assert channel.has_answered(within_s=60)
    subscribed(peer)
    try:
        yield channel, heard
    finally:
        channel.stop()


def subscribed(peer: Peer) -> None:
    wait_until("the channel to subscribe", lambda: peer.is_subscribed, timeout_s=60, every_s=0.01)


def in_short(events: list[tuple[str, Event]]) -> list[tuple[str, Kind, str | None, int | None, int]]:
    return [(pod, event.kind, event.container, event.instance, event.t_ns) for pod, event in events]


def test_a_life_of_a_container_is_reported_with_the_runtime_s_own_stamps(peer: Peer) -> None:
    with following(peer) as (_, heard):
        peer.created("c0", 100, labels("pod", "app"))
        peer.started("c0", 200)
        peer.exited("c0", 300, 42)
        peer.cleared("c0", 350)
        heard.wait_for(4)
        peer.removed("c0", 400)
        events = heard.wait_for(5)
    assert in_short(events) == [
        ("pod", Kind.CREATED, "app", 0, 100),
        ("pod", Kind.STARTED, "app", 0, 200),
        ("pod", Kind.EXITED, "app", 0, 300),
        ("pod", Kind.CLEARED, "app", 0, 350),
        ("pod", Kind.REMOVED, "app", 0, 400),
    ]
    assert [event.data for _, event in events] == [
        {"container_id": "c0", "image": "image"},
        {"container_id": "c0", "pid": 7},
        {"container_id": "c0", "exit_code": 42, "published_ns": 305},
        {"container_id": "c0"},
        {"container_id": "c0"},
    ]
    assert {event.channel for _, event in events} == {Channel.RUNTIME}
    assert {event.pod_uid for _, event in events} == {"uid-pod"}
    assert {event.node for _, event in events} == {"node"}


@pytest.mark.parametrize(
    ("message", "exits"),
    [("OCI runtime create failed: no such file", 1), ("ttrpc: closed", 1), ("context canceled", 0)],
    ids=["no command", "no sandbox", "cut off by the end of a kubelet"],
)
def test_a_start_that_the_runtime_refuses_is_an_exit_when_the_next_is_created(
    peer: Peer, message: str, exits: int
) -> None:
    peer.refused["c0"] = api_pb2.ContainerStatus(
        state=2, finished_at=150, exit_code=128, reason="StartError", message=message
    )
    with following(peer) as (_, heard):
        peer.created("c0", 100, labels("pod", "app"))
        heard.wait_for(1)
        peer.created("c1", 200, labels("pod", "app"))
        events = heard.wait_for(2 + exits)
    assert in_short(events)[1:-1] == [("pod", Kind.EXITED, "app", 0, 150)][:exits]
    assert [each.data for _, each in events[1:-1]] == [{"container_id": "c0", "exit_code": 128, "refused": message}][
        :exits
    ]


def test_only_events_of_containers_of_the_cri_are_asked_for(peer: Peer) -> None:
    with following(peer):
        assert peer.filters == [f'namespace==k8s.io,topic=="{topic}"' for topic in Topic]


def test_instances_are_counted_for_each_container_of_each_pod(peer: Peer) -> None:
    with following(peer) as (_, heard):
        for at, (container_id, pod, name) in enumerate(
            [("a0", "a", "app"), ("a1", "a", "app"), ("b0", "b", "app"), ("s0", "a", "side"), ("a2", "a", "app")]
        ):
            peer.created(container_id, at, labels(pod, name))
        events = heard.wait_for(5)
    assert [(pod, event.container, event.instance) for pod, event in events] == [
        ("a", "app", 0),
        ("a", "app", 1),
        ("b", "app", 0),
        ("a", "side", 0),
        ("a", "app", 2),
    ]


def test_an_exec_that_ends_is_not_the_container_s_exit(peer: Peer) -> None:
    with following(peer) as (_, heard):
        peer.created("c0", 1, labels("pod", "app"))
        peer.exited("c0", 2, 1, exec_id="probe")
        peer.cleared("c0", 2, exec_id="probe")
        peer.exited("c0", 3, 0)
        events = heard.wait_for(3)
    assert [event.kind for _, event in events] == [Kind.CREATED, Kind.EXEC_EXITED, Kind.EXITED]
    assert events[1][1].data == {"container_id": "c0", "exit_code": 1, "published_ns": 7, "exec_id": "probe"}


def test_an_exit_that_is_stamped_before_its_start_is_kept_as_it_is(peer: Peer) -> None:
    with following(peer) as (_, heard):
        peer.created("c0", 1, labels("pod", "app"))
        peer.exited("c0", 20, 1)
        peer.started("c0", 30)
        events = heard.wait_for(3)
    assert in_short(events)[1:] == [("pod", Kind.EXITED, "app", 0, 20), ("pod", Kind.STARTED, "app", 0, 30)]


def test_what_is_cleared_away_of_a_container_that_was_removed_or_never_met_is_no_gap(peer: Peer) -> None:
    with following(peer) as (_, heard):
        peer.cleared("never", 1)
        peer.created("c0", 2, labels("pod", "app"))
        heard.wait_for(1)
        peer.removed("c0", 3)
        peer.cleared("c0", 4)
        peer.created("c1", 5, labels("pod", "app"))
        events = heard.wait_for(3)
    assert [event.kind for _, event in events] == [Kind.CREATED, Kind.REMOVED, Kind.CREATED]


def test_a_sandbox_is_reported_by_its_phases(peer: Peer) -> None:
    with following(peer) as (_, heard):
        peer.created("s", 1, labels("pod", None))
        peer.started("s", 2)
        peer.exited("s", 3, 137)
        heard.wait_for(3)
        peer.removed("s", 4)
        events = heard.wait_for(4)
    assert [(event.kind, event.container, event.data["phase"]) for _, event in events] == [
        (Kind.SANDBOX, None, phase) for phase in ("created", "started", "exited", "removed")
    ]


def test_containers_of_other_namespaces_are_left_out(peer: Peer) -> None:
    with following(peer) as (_, heard):
        peer.created("dns", 1, labels("coredns", "dns", namespace="kube-system"))
        peer.started("dns", 2)
        peer.created("c0", 3, labels("pod", "app"))
        assert in_short(heard.wait_for(1)) == [("pod", Kind.CREATED, "app", 0, 3)]


def test_what_existed_before_is_listed(peer: Peer) -> None:
    peer.add("later", 20, labels("pod", "app"))
    peer.add("sooner", 10, labels("pod", "app"))
    with following(peer) as (_, heard):
        events = heard.wait_for(2)
    assert [(event.t_ns, event.instance, event.data) for _, event in events] == [
        (10, 0, {"container_id": "sooner", "image": "image", "listed": True}),
        (20, 1, {"container_id": "later", "image": "image", "listed": True}),
    ]


def test_a_container_whose_creation_was_missed_is_found_by_its_first_event(peer: Peer) -> None:
    with following(peer) as (_, heard):
        peer.add("c0", 10, labels("pod", "app"))
        peer.started("c0", 20)
        events = heard.wait_for(2)
    assert in_short(events) == [("pod", Kind.CREATED, "app", 0, 10), ("pod", Kind.STARTED, "app", 0, 20)]
    assert events[0][1].data["listed"] is True


def test_a_container_that_was_gone_before_it_could_be_looked_up_is_a_gap(peer: Peer) -> None:
    with following(peer) as (_, heard):
        peer.exited("ghost", 10, 1)
        ((whose, event),) = heard.wait_for(1)
    assert (whose, event.kind, event.t_ns) == ("node", Kind.GAP, 15)
    assert event.data == {
        "channel": "runtime",
        "from_ns": 15,
        "reason": "container ghost was gone before its event /tasks/exit could be attributed",
        "lost": True,
    }


def test_a_runtime_that_is_restarted_leaves_a_gap_and_is_followed_again(peer: Peer) -> None:
    with following(peer) as (channel, heard):
        peer.created("c0", 1, labels("pod", "app"))
        heard.wait_for(1)
        peer.stop()
        wait_until("the loss to be noticed", channel.broken_since, timeout_s=60, every_s=0.01)
        peer.removed("c0", 2)
        peer.add("c1", 3, labels("pod", "app"))
        peer.start()
        subscribed(peer)
        peer.started("c1", 4)
        events = heard.wait_for(4)
        assert channel.broken_since() is None
    assert in_short(events)[2:] == [("pod", Kind.CREATED, "app", 1, 3), ("pod", Kind.STARTED, "app", 1, 4)]
    whose, gap = events[1]
    assert (whose, gap.kind, gap.data["channel"], gap.data["lost"]) == ("node", Kind.GAP, "runtime", True)
    assert events[0][1].received_ns == gap.data["from_ns"] < gap.t_ns


def test_a_gap_names_the_containers_that_have_outlasted_it(peer: Peer) -> None:
    with following(peer) as (channel, heard):
        for name in ("c0", "c1"):
            peer.created(name, 1, labels("pod", name))
        heard.wait_for(2)
        peer.stop()
        wait_until("the loss to be noticed", channel.broken_since, timeout_s=60, every_s=0.01)
        peer.refused |= {"c0": api_pb2.ContainerStatus(state=1), "c1": api_pb2.ContainerStatus(state=2)}
        peer.start()
        subscribed(peer)
        events = heard.wait_for(3)
    assert events[2][1].data["running"] == ["c0"]


ROOT = Path(__file__).parents[3]
PROTO = "crashloop/record/channels/containerd/api.proto"


@pytest.mark.parametrize("suffix", ["_pb2.py", "_pb2.pyi"], ids=["code", "types"])
def test_the_generated_code_is_up_to_date(suffix: str, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", "-I.", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", PROTO],
        cwd=ROOT,
        check=True,
        timeout=60,
    )
    generated = PROTO.replace(".proto", suffix)
    assert (tmp_path / generated).read_text() == (ROOT / generated).read_text(), "see the command in api.proto"
