"""Metrics of the kubelet come through the API server, those of kube-state-metrics by the cluster; what cannot be read is said."""

from typing import cast

import pytest

from crashloop.cluster.provider import Cluster
from crashloop.errors import ClusterError
from crashloop.history.event import Kind
from crashloop.kube.answers import ApiUnreachable
from crashloop.kube.client import KubeApi
from crashloop.record.channels.readout import sample_event, state_sample_event
from crashloop.spec.state_metrics import RESTARTS

METRICS = b"""# TYPE kubelet_started_pods_total counter
kubelet_started_pods_total 3
kubelet_running_pods 2
kubelet_pod_start_duration_seconds_count 6
kubernetes_feature_enabled{name="A",stage="BETA"} 1
"""


def api(monkeypatch: pytest.MonkeyPatch, answer: bytes | Exception) -> KubeApi:
    """An API server that gives this answer to a request for the metrics of node n."""

    def get_raw(_: KubeApi, path: str) -> bytes:
        assert path == "/api/v1/nodes/n/proxy/metrics"
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(KubeApi, "get_raw", get_raw)
    return KubeApi.__new__(KubeApi)


def test_only_the_families_that_were_named_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    families = ("kubelet_started_pods_total", "kubelet_pod_start_duration_seconds", "kubernetes_feature_enabled")
    event = sample_event(api(monkeypatch, METRICS), "n", families)
    assert (event.kind, event.node) == (Kind.SAMPLE, "n")
    assert event.data == {
        "series": (
            {"name": "kubelet_started_pods_total", "labels": {}, "value": 3.0},
            {"name": "kubelet_pod_start_duration_seconds_count", "labels": {}, "value": 6.0},
            {"name": "kubernetes_feature_enabled", "labels": {"name": "A", "stage": "BETA"}, "value": 1.0},
        )
    }


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(ApiUnreachable("read /metrics: 503\n"), "read /metrics: 503", id="refused"),
        pytest.param(
            b"kubelet_started_pods_total many\n", "could not convert string to float: b'many'", id="malformed"
        ),
    ],
)
def test_metrics_that_cannot_be_read_say_why(
    monkeypatch: pytest.MonkeyPatch, answer: bytes | Exception, said: str
) -> None:
    event = sample_event(api(monkeypatch, answer), "n", ("kubelet_started_pods_total",))
    assert event.data == {"unread": said}


class StateMetrics:
    """A cluster of which only kube-state-metrics is asked."""

    def __init__(self, answer: bytes | ClusterError) -> None:
        self._answer = answer
        self.awaited: list[str] = []

    def state_metrics(self, pod_uid: str) -> bytes:
        self.awaited.append(pod_uid)
        if isinstance(self._answer, ClusterError):
            raise self._answer
        return self._answer


def test_only_the_pods_of_the_scenario_are_written_once_the_newest_is_known() -> None:
    lines = (f'{RESTARTS}{{uid="{uid}",container="app"}} {value}' for uid, value in (("a", 3), ("b", 4), ("z", 9)))
    cluster = StateMetrics("\n".join(lines).encode())
    event = state_sample_event(cast("Cluster", cluster), (RESTARTS,), ("a", "b"))
    assert cluster.awaited == ["b"]
    assert [(each["labels"]["uid"], each["value"]) for each in event.data["series"]] == [("a", 3.0), ("b", 4.0)]


def test_state_metrics_that_cannot_be_read_say_why() -> None:
    cluster = StateMetrics(ClusterError("kube-state-metrics ended with exit code 1"))
    event = state_sample_event(cast("Cluster", cluster), (RESTARTS,), ("a",))
    assert event.data == {"unread": "kube-state-metrics ended with exit code 1"}
