"""What a cluster has of nodes and of pods that crash now, by one list of each."""

from collections import Counter
from typing import Any

import msgspec

from crashloop.errors import UsageError
from crashloop.kube.client import Collection, KubeApi
from crashloop.kube.objects import kubelet_version, node_cores
from crashloop.model.pod_status import WAITING_REASON
from crashloop.yaml_text import Json


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
    if not nodes:
        raise UsageError("--from-cluster: the cluster has no nodes.")
    pods, crashing = 0, Counter[str | None]()
    for pod in api.objects(Collection("pods")):
        pods += 1
        crashing.update([pod["spec"].get("nodeName")] if _crashes(pod) else ())
    if not crashing:
        raise UsageError(
            f"--from-cluster: of {pods:,} pods none waits in CrashLoopBackOff now.\nSay how many would: --crashing-pods N."
        )
    cores = [node_cores(node) or 1.0 for node in nodes]
    return Fleet(
        nodes=len(nodes),
        cores=min(cores),
        most_cores=max(cores),
        releases=tuple(map(str, sorted({kubelet_version(node) for node in nodes}))),
        pods=pods,
        crashing=crashing.total(),
        most_on_a_node=max(crashing.values()),
    )


def _crashes(pod: Json) -> bool:
    status = pod.get("status") or {}
    listed = (status.get(name) or () for name in ("initContainerStatuses", "containerStatuses"))
    return any(_reason(each) == WAITING_REASON for some in listed for each in some)


def _reason(status: dict[str, Any]) -> object:
    return ((status.get("state") or {}).get("waiting") or {}).get("reason")
