"""Whether nodes are Ready, as a source of metrics: the statement of the API server, not of the kubelet."""

from collections.abc import Iterable, Iterator

from crashloop.kube.client import KubeApi
from crashloop.measure.processes import Sample
from crashloop.slo.exposition import SeriesKey

NAME = "node_not_ready"


def readiness(api: KubeApi, names: Iterable[str]) -> Iterator[Sample]:
    """One sample per node of these names: 1 unless its condition Ready is True. A node that is gone is not Ready."""
    ready = {each["metadata"]["name"] for each in api.nodes() if _is_ready(each["status"].get("conditions", []))}
    for name in names:
        yield f"{NAME} {name}".encode(), SeriesKey(NAME, {"node": name}), float(name not in ready)


def _is_ready(conditions: Iterable[dict[str, str]]) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
