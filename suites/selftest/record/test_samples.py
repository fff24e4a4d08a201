"""The kubelet's metrics are read through the API server; what cannot be read is said."""

import pytest

from crashloop.history.event import Kind
from crashloop.kube.client import KubeApi
from crashloop.kube.errors import ApiUnreachable
from crashloop.record.samples import sample_event

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
