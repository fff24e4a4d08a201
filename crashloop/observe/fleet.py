"""What a cluster has of nodes and of pods that crash now, by one list of each."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from crashloop.errors import UsageError
from crashloop.inference.loops import BACKS_OFF
from crashloop.kube.client import Collection, Json, KubeApi
from crashloop.observe.nodes import kubelet_version


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes and pods of a cluster."""

    nodes: int
    cores: float
    """Of the smallest node."""
    most_cores: float
    releases: tuple[str, ...]
    """Versions of its kubelets, the oldest first."""
    pods: int
    crashing: int
    """Pods of which a container waits in CrashLoopBackOff now."""
    most_on_a_node: int

    @property
    def oldest(self) -> str:
        return self.releases[0]

    @property
    def in_words(self) -> str:
        cores = f"{self.cores:g}" if self.cores == self.most_cores else f"{self.cores:g} to {self.most_cores:g}"
        return (
            f"Read from the cluster: {self.nodes:,} nodes of {cores} cores (kubelets {', '.join(self.releases)}); of "
            f"{self.pods:,} pods {self.crashing:,} wait in CrashLoopBackOff now, {self.most_on_a_node} of them on one node."
        )


def read_fleet(api: KubeApi) -> Fleet:
    """Raises UsageError for a cluster without nodes, or without a pod that crashes; KubeError."""
    nodes = api.nodes()
    pods = list(_pods(api))
    crashing = [each for each in pods if _crashes(each)]
    if not nodes:
        raise UsageError("--from-cluster: the cluster has no nodes.")
    if not crashing:
        raise UsageError(
            f"--from-cluster: of {len(pods):,} pods none waits in CrashLoopBackOff now.\nSay how many would: --crashing-pods N."
        )
    cores = [_cores(str(node["status"].get("capacity", {}).get("cpu", 1))) for node in nodes]
    return Fleet(
        nodes=len(nodes),
        cores=min(cores),
        most_cores=max(cores),
        releases=tuple(map(str, sorted({kubelet_version(node) for node in nodes}))),
        pods=len(pods),
        crashing=len(crashing),
        most_on_a_node=max(Counter(each["spec"].get("nodeName") for each in crashing).values()),
    )


def _pods(api: KubeApi) -> Iterator[Json]:
    begin_at = ""
    while True:
        page: Json = msgspec.json.decode(api.list_page(Collection("pods"), begin_at=begin_at))
        yield from page["items"]
        begin_at = page["metadata"].get("continue") or ""
        if not begin_at:
            return


def _crashes(pod: Json) -> bool:
    status = pod.get("status") or {}
    listed = (status.get(name) or () for name in ("initContainerStatuses", "containerStatuses"))
    return any(_reason(each) == BACKS_OFF for some in listed for each in some)


def _reason(status: dict[str, Any]) -> object:
    return ((status.get("state") or {}).get("waiting") or {}).get("reason")


def _cores(quantity: str) -> float:
    """A CPU quantity of a node: cores, or milli-cores."""
    return float(quantity.removesuffix("m")) / (1000 if quantity.endswith("m") else 1)
