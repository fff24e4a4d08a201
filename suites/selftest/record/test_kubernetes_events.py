"""Kubernetes Events about pods reach the history of their pod once per count, and nothing is judged by them."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crashloop.history.event import Channel, Event, Kind, to_line
from crashloop.history.reduction import read_recording
from crashloop.kube.client import KubeApi
from crashloop.record.channels.api import KubernetesEventsChannel
from crashloop.record.channels.channel import Sink
from crashloop.waiting import wait_until
from suites.selftest.kit.kube_peer import HANG, Json, Peer, change, serving, status

BACK_OFF = "Back-off restarting failed container app in pod crashing_ns(uid-1)"


def object_of(
    name: str, version: int, *, count: int | None = 1, field_path: str = "spec.containers{app}", **more: Any
) -> Json:
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version)},
        "involvedObject": {"kind": "Pod", "name": "crashing", "uid": "uid-1", "fieldPath": field_path},
        "reason": "BackOff",
        "message": BACK_OFF,
        "type": "Warning",
        "count": count,
        "source": {"component": "kubelet", "host": "node"},
        **more,
    }


def listed(version: int, *events: Json) -> Json:
    return {"kind": "EventList", "metadata": {"resourceVersion": str(version)}, "items": list(events)}


class Kept(Sink):
    def __init__(self) -> None:
        self.pods: list[tuple[str, Event]] = []
        self.gaps: list[Event] = []

    def pod(self, pod: str, event: Event) -> None:
        self.pods.append((pod, event))

    def node(self, node: str, event: Event) -> None:
        raise AssertionError(f"no Event here is about a node, but {node} got {event}")

    def everyone(self, event: Event) -> None:
        self.gaps.append(event)


def followed(peer: Peer, tmp_path: Path, *, pods: int, gaps: int = 0) -> Kept:
    """What the channel has seen once it has seen so many Events about pods and so many gaps."""
    kept = Kept()
    with serving(peer, tmp_path) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        channel = KubernetesEventsChannel(api, "ns", kept)
        channel.start()
        wait_until("all Events", lambda: (len(kept.pods), len(kept.gaps)) >= (pods, gaps), timeout_s=60)
        channel.stop()
    return kept


def test_an_event_is_recorded_when_it_comes_and_when_it_is_counted_again(tmp_path: Path) -> None:
    script = [change("MODIFIED", object_of("a", 6, count=2)), change("DELETED", object_of("b", 7)), HANG]
    kept = followed(Peer([listed(5, object_of("a", 5))], [script]), tmp_path, pods=2)
    assert [event.data["count"] for _, event in kept.pods] == [1, 2]
    pod, event = kept.pods[0]
    assert (pod, event.channel, event.kind, event.pod_uid, event.container) == (
        "crashing",
        Channel.EVENTS,
        Kind.KUBERNETES_EVENT,
        "uid-1",
        "app",
    )
    assert event.data == {
        "reason": "BackOff",
        "message": BACK_OFF,
        "type": "Warning",
        "count": 1,
        "reporter": "kubelet",
    }


def test_an_event_about_the_whole_pod_names_no_container(tmp_path: Path) -> None:
    scheduled = object_of(
        "s", 5, field_path="", reason="Scheduled", source={}, count=None, reportingComponent="default-scheduler"
    )
    (_, event), *_ = followed(Peer([listed(5, scheduled)], [[HANG]]), tmp_path, pods=1).pods
    assert (event.container, event.data["count"], event.data["reporter"]) == (None, 1, "default-scheduler")


def test_what_a_second_list_repeats_is_recorded_once(tmp_path: Path) -> None:
    gone = change("ERROR", status(410, "Expired"))
    peer = Peer([listed(5, object_of("a", 5)), listed(9, object_of("a", 5), object_of("b", 9))], [[gone], [HANG]])
    kept = followed(peer, tmp_path, pods=2, gaps=1)
    assert [event.data["count"] for _, event in kept.pods] == [1, 1]
    assert [(each.data["channel"], each.data["lost"]) for each in kept.gaps] == [("events", True)]


def test_a_user_without_the_permission_sees_no_events_and_the_run_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = Kept()
    peer = Peer([status(403, "Forbidden", "events is forbidden")], [[HANG]])
    with serving(peer, tmp_path) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        channel = KubernetesEventsChannel(api, "ns", kept)
        channel.start()
        wait_until("the channel to give up", lambda: "no Kubernetes Events" in caplog.text, timeout_s=60)
        channel.stop()
    assert kept.pods == []
    assert "events is forbidden" in caplog.text


def test_an_event_in_a_history_is_shown_with_its_pod(tmp_path: Path) -> None:
    (_, event), *_ = followed(Peer([listed(5, object_of("a", 5))], [[HANG]]), tmp_path, pods=1).pods
    (pod,) = read_recording([to_line(event)]).pods
    (seen,) = pod.events
    assert (seen.container, seen.data.reason, seen.data.message) == ("app", "BackOff", BACK_OFF)
