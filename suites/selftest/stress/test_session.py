"""Pods of a load get a history each, from the first that is heard of them until some time after they are gone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from crashloop.cluster.provider import Capability, Node
from crashloop.history.event import Channel, Event, Kind
from crashloop.history.recording import Recording
from crashloop.history.reduction import read_recording
from crashloop.kube.watch import Metadata, PodObject
from crashloop.record.channels.api import api_event, take_pod
from crashloop.spec.scenario import PodScenario
from crashloop.stress.assignment import journal_path
from crashloop.stress.evidence import SETTLES_S, LoadEventRouter
from crashloop.stress.loads import ASKED_ANNOTATION, AnyLoad
from suites.selftest.kit.recording_site import cluster_info
from suites.selftest.kit.stress_kit import CRASHERS, HEALTHY, MAX_1S

NODE = Node(name="node-1", profile="max-1s")


@pytest.fixture
def session(tmp_path: Path) -> LoadEventRouter:
    info = cluster_info(NODE, capabilities=frozenset({Capability.RUNTIME_EVENTS}))
    loads: dict[str, AnyLoad] = {"crashers": CRASHERS, "healthy": HEALTHY}
    return LoadEventRouter(
        loads, {"storm": (NODE, MAX_1S)}, info, lambda pod: tmp_path / f"{pod}.jsonl", lambda _: (), tmp_path
    )


def started(pod_uid: str = "u") -> Event:
    return Event(
        seq=0,
        t_ns=5,
        received_ns=6,
        channel=Channel.RUNTIME,
        kind=Kind.STARTED,
        pod_uid=pod_uid,
        container="app",
        data={"container_id": "c0", "pid": 1},
    )


def seen(name: str, *, asked: str = "123", uid: str = "u") -> PodObject:
    annotations = {ASKED_ANNOTATION: asked} if asked else {}
    return PodObject(metadata=Metadata(name=name, uid=uid, resource_version="1", annotations=annotations))


def read(folder: Path, pod: str) -> Recording:
    with (folder / f"{pod}.jsonl").open("rb") as lines:
        return read_recording(lines)


def test_kept_journals_are_the_last_lines_before_the_end(session: LoadEventRouter, tmp_path: Path) -> None:
    kept = journal_path(tmp_path, "crashers-0-1", "app")
    kept.parent.mkdir()
    kept.write_text("crashloop/1 start 0 100.00\ncrashloop/1 exit 0 101.00 1\ncrashloop/1 start 1 102.50\n")
    session.met(seen("crashers-0-1"))
    session.close("complete", "over")
    (pod,) = read(tmp_path, "crashers-0-1").pods
    assert [each.exit_code for each in pod.containers["app"]] == [1, None]


def test_a_history_begins_with_the_first_event_of_its_pod(session: LoadEventRouter, tmp_path: Path) -> None:
    session.pod("crashers-0-3", started())
    session.close("deadline", "the run has ended")
    recording = read(tmp_path, "crashers-0-3")
    assert recording.begin is not None
    assert isinstance(recording.begin.scenario, PodScenario)
    assert recording.begin.scenario.name == "crashers-0-3"
    assert recording.begin.node == "node-1"
    assert recording.damage == ()
    assert (session.starts, session.pods) == (1, 1)


def test_a_pod_was_asked_for_when_its_annotation_says_so_once(session: LoadEventRouter, tmp_path: Path) -> None:
    for _ in range(2):
        take_pod(session, seen("healthy-0-0"), 200)
    session.close("deadline", "the run has ended")
    (pod,) = read(tmp_path, "healthy-0-0").pods
    assert pod.created is not None
    assert pod.created.utc_ns == 123


def test_a_pod_without_that_annotation_has_a_history_all_the_same(session: LoadEventRouter, tmp_path: Path) -> None:
    take_pod(session, seen("crashers-0-1-x7k2p", asked=""), 200)
    session.close("deadline", "the run has ended")
    (pod,) = read(tmp_path, "crashers-0-1-x7k2p").pods
    assert pod.created is None


def test_a_pod_of_no_load_is_not_recorded(session: LoadEventRouter, tmp_path: Path) -> None:
    session.pod("stranger-0-0", started())
    assert list(tmp_path.iterdir()) == []


def gone(session: LoadEventRouter, pod: str) -> None:
    take_pod(session, seen(pod), 200)
    session.pod(pod, api_event(Kind.DELETED, "u", 300, resource_version="2"))


def test_a_history_is_sealed_some_time_after_its_pod_is_gone(
    session: LoadEventRouter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 1000.0
    clock: Callable[[], float] = lambda: now_s  # noqa: E731
    monkeypatch.setattr("crashloop.stress.evidence.time.monotonic", clock)
    gone(session, "crashers-0-0")
    assert session.present == 0
    session.sweep()
    assert read(tmp_path, "crashers-0-0").end is None
    now_s += SETTLES_S
    session.sweep()
    end = read(tmp_path, "crashers-0-0").end
    assert end is not None
    assert (end.reason, end.detail) == ("complete", "the pod is gone")


def test_what_comes_after_the_seal_begins_no_second_history(session: LoadEventRouter, tmp_path: Path) -> None:
    gone(session, "crashers-0-0")
    session.close("interrupted", "the run has ended")
    before = (tmp_path / "crashers-0-0.jsonl").read_bytes()
    session.pod("crashers-0-0", started())
    session.everyone(started())
    assert (tmp_path / "crashers-0-0.jsonl").read_bytes() == before


def test_what_concerns_everyone_reaches_every_pod_that_is_there(session: LoadEventRouter, tmp_path: Path) -> None:
    take_pod(session, seen("crashers-0-0"), 200)
    take_pod(session, seen("crashers-0-1", uid="v"), 200)
    stall = Event(seq=0, t_ns=9, received_ns=9, channel=Channel.RECORDER, kind=Kind.STALL, data={"stalled_ns": 1})
    session.everyone(stall)
    session.close("deadline", "the run has ended")
    assert [read(tmp_path, f"crashers-0-{number}").host.held_s(0, 20) > 0 for number in range(2)] == [True, True]
