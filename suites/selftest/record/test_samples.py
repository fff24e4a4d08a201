"""Metrics of the kubelet come through the API server, those of kube-state-metrics by the cluster; what cannot be read is said.

The log files of a pod are listed by the names that the kubelet gives them.
"""

from pathlib import Path
from typing import cast

import msgspec
import pytest

from crashloop.cluster.provider import Cluster
from crashloop.errors import ClusterError
from crashloop.history.event import Kind
from crashloop.kube.answers import ApiUnreachable
from crashloop.kube.client import KubeApi
from crashloop.record.channels.readout import log_files, sample_event, state_sample_event
from crashloop.record.event_router import PodRecording
from crashloop.spec.pod import Container, Pod
from crashloop.spec.scenario import PodScenario, Until
from crashloop.spec.state_metrics import RESTARTS
from suites.selftest.kit.recording_site import CAPABILITIES, NODE, cluster_info

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


SCENARIO = PodScenario(name="s", profile="stock", pod=Pod(containers=(Container(),)), until=Until())


def recording(pod_logs: Path | None) -> PodRecording:
    node = msgspec.structs.replace(NODE, pod_logs=None if pod_logs is None else str(pod_logs))
    made = PodRecording(SCENARIO, node, cluster_info(node, capabilities=CAPABILITIES))
    made.joined("uid-1", "s")
    return made


def test_each_container_has_its_logs_by_number(tmp_path: Path) -> None:
    for name in ("app/0.log", "app/10.log", "app/2.log", "app/2.log.20260101-000000.gz", "sidecar/0.log"):
        log = tmp_path / "ns_s_uid-1" / name
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
    (event,) = log_files("ns", recording(tmp_path), "uid-1")
    assert (event.kind, event.pod_uid) == (Kind.LOG_FILES, "uid-1")
    assert event.data == {"logs": {"app": [0, 2, 10], "sidecar": [0]}}


def test_nothing_is_said_where_the_folders_are_out_of_reach_or_the_pod_has_none(tmp_path: Path) -> None:
    assert log_files("ns", recording(None), "uid-1") == []
    assert log_files("ns", recording(tmp_path), "uid-1") == []
