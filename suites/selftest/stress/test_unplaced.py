"""Pods that the scheduler places: their history begins with their node, and those without one are reported."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from crashloop.cluster.provider import Node
from crashloop.history.event import Channel, Event, Kind
from crashloop.history.recording import Recording
from crashloop.history.reduction import read_recording
from crashloop.kube.watch import Metadata, PodObject
from crashloop.record.channels.api import api_event, take_pod
from crashloop.stress.evidence import LoadEventRouter
from crashloop.stress.loads import ASKED_ANNOTATION, AnyLoad
from crashloop.stress.pending_pods import UnplacedPods
from suites.selftest.kit.recording_site import cluster_info
from suites.selftest.kit.stress_kit import CRASHERS, HEALTHY, MAX_1S

NODES = tuple(Node(name=name, profile="max-1s") for name in ("node-1", "node-2"))
WORDS = "0/2 nodes are available: 2 Too many pods."


def pod(name: str = "crashers-0-0", node: str = "", *, version: str = "1") -> PodObject:
    conditions = [{"type": "PodScheduled", "status": "False", "message": f"{WORDS}\n"}] if not node else []
    return PodObject(
        metadata=Metadata(name=name, uid=name, resource_version=version, annotations={ASKED_ANNOTATION: "123"}),
        spec=msgspec.Raw(msgspec.json.encode({"nodeName": node} if node else {})),
        status=msgspec.Raw(msgspec.json.encode({"phase": "Pending", "conditions": conditions})),
    )


@pytest.fixture
def session(tmp_path: Path) -> LoadEventRouter:
    info = cluster_info(*NODES, provider="existing")
    loads: dict[str, AnyLoad] = {"crashers": CRASHERS, "healthy": HEALTHY}
    there = {node.name: (node, MAX_1S) for node in NODES}
    return LoadEventRouter(
        loads, there, info, lambda name: tmp_path / f"{name}.jsonl", lambda _: (), tmp_path, are_spread=True
    )


def read(folder: Path, name: str) -> Recording:
    with (folder / f"{name}.jsonl").open("rb") as lines:
        return read_recording(lines)


def clocked(monkeypatch: pytest.MonkeyPatch, session: LoadEventRouter) -> Callable[[float], None]:
    now = [1000.0]
    session.unplaced = UnplacedPods(lambda: now[0])

    def passes(seconds: float) -> None:
        now[0] += seconds

    return passes


def test_a_history_begins_with_the_node_that_the_api_server_states(session: LoadEventRouter, tmp_path: Path) -> None:
    take_pod(session, pod("crashers-0-0", "node-2"), 200)
    take_pod(session, pod("crashers-0-1", "node-1"), 200)
    session.close("deadline", "the run has ended")
    begins = [read(tmp_path, f"crashers-0-{number}").begin for number in range(2)]
    assert [begin.node for begin in begins if begin is not None] == ["node-2", "node-1"]


def test_what_was_said_before_a_node_was_chosen_is_kept(session: LoadEventRouter, tmp_path: Path) -> None:
    take_pod(session, pod(), 200)
    assert not list(tmp_path.iterdir())
    take_pod(session, pod(node="node-1", version="2"), 300)
    session.close("deadline", "the run has ended")
    (found,) = read(tmp_path, "crashers-0-0").pods
    assert len(found.statuses) == 2
    assert found.created is not None
    assert found.created.utc_ns == 123
    assert session.unplaced.sentence() is None


def test_a_pod_that_never_gets_a_node_is_reported_with_the_scheduler_s_words(
    session: LoadEventRouter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = clocked(monkeypatch, session)
    take_pod(session, pod("crashers-0-0"), 200)
    take_pod(session, pod("crashers-0-1"), 200)
    passes(10)
    session.pod("crashers-0-0", api_event(Kind.DELETED, "crashers-0-0", 300, resource_version="2"))
    session.sweep()
    session.close("deadline", "the run has ended")
    assert not list(tmp_path.iterdir())
    assert session.unplaced.sentence() == (
        "2 pods of the load were on no node of the run, such as crashers-0-0: 0/2 nodes are available: 2 Too many pods."
    )


def test_a_pod_that_is_removed_before_long_is_not_reported(
    session: LoadEventRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = clocked(monkeypatch, session)
    take_pod(session, pod("healthy-0-0"), 200)
    passes(9)
    session.pod("healthy-0-0", api_event(Kind.DELETED, "healthy-0-0", 300, resource_version="2"))
    assert session.unplaced.sentence() is None


def test_a_pod_on_a_node_that_the_run_does_not_take_is_reported(session: LoadEventRouter, tmp_path: Path) -> None:
    take_pod(session, pod(node="node-3"), 200)
    assert not list(tmp_path.iterdir())
    assert session.unplaced.sentence() == (
        "1 pod of the load was on no node of the run, such as crashers-0-0: it is on node node-3, which the run does not "
        "take."
    )


def test_what_concerns_a_node_reaches_the_pods_on_it_and_no_others(session: LoadEventRouter, tmp_path: Path) -> None:
    for number in range(3):
        take_pod(session, pod(f"crashers-0-{number}", NODES[number % 2].name), 200)
    stall = Event(
        seq=0, t_ns=9, received_ns=9, channel=Channel.RECORDER, kind=Kind.STALL, node="node-1", data={"stalled_ns": 1}
    )
    session.node("node-1", stall)
    session.close("deadline", "the run has ended")
    session.node("node-1", stall)
    kept = [read(tmp_path, f"crashers-0-{number}") for number in range(3)]
    assert [b'"stalled_ns"' in (tmp_path / f"crashers-0-{number}.jsonl").read_bytes() for number in range(3)] == [
        True,
        False,
        True,
    ]
    assert [each.end is not None for each in kept] == [True] * 3


def test_a_pod_of_no_load_waits_for_no_node(session: LoadEventRouter) -> None:
    take_pod(session, pod("stranger-0-0"), 200)
    assert session.unplaced.sentence() is None
