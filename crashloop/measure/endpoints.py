"""Addresses of the sources of metrics, all through the API server, so that they work wherever it is reachable.

A scrape of a kubelet costs the API server one request (verb CONNECT on nodes/proxy), which counts in its metrics.
"""

from collections.abc import Iterator
from typing import NamedTuple

from crashloop.cluster.provider import ClusterInfo

_OF_A_NODE = {
    "kubelet": "metrics",
    "cadvisor": "metrics/cadvisor",
    "resource": "metrics/resource",
    "probes": "metrics/probes",
}


class Endpoint(NamedTuple):
    """One source of metrics."""

    source: str
    node: str
    path: str

    @property
    def file_name(self) -> str:
        return f"{self.source}-{self.node}.jsonl" if self.node else f"{self.source}.jsonl"


def endpoints(info: ClusterInfo) -> Iterator[Endpoint]:
    """Every endpoint of a cluster."""
    yield Endpoint("apiserver", "", "/metrics")
    for node in info.nodes:
        for source, path in _OF_A_NODE.items():
            yield Endpoint(source, node.name, f"/api/v1/nodes/{node.name}/proxy/{path}")
