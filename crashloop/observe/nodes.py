"""Nodes of a cluster: how many there are and what crashes on them, and facts and findings about those with crash loops.

Facts are release, configuration, and whether the counters of a node were lost meanwhile.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import msgspec

from crashloop.errors import UsageError
from crashloop.inference.judging import NodeFinding, judge_node, unjudged
from crashloop.inference.loops import CrashLoop
from crashloop.kube.answers import KubeError
from crashloop.kube.client import Collection, KubeApi
from crashloop.kube.kubelet import ConfigzReader, NodeSign, sign_of
from crashloop.kube.objects import kubelet_version, node_cores
from crashloop.model.config import Curve, profile_of, shipped_curve
from crashloop.model.pod_status import WAITING_REASON
from crashloop.processors import on_all_processors
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import RELEASES, KubernetesVersion
from crashloop.waiting import pause
from crashloop.yaml_text import Json

EVERY_OTHER = "*"
"""In --expect: every node that is not named."""

CONFIGZ_AT_ONCE, CONFIGZ_EVERY_S = 10, 0.05
"""A kubelet is asked through the API server where it cannot be reached: 20 in a second are no load for either."""

log = logging.getLogger(__name__)


class Configured(msgspec.Struct, frozen=True, kw_only=True):
    """The configured curve of a node, and its source."""

    curve: Curve | None
    by: str


NOT_KNOWN = Configured(curve=None, by="")


def nodes_by_name(api: KubeApi) -> dict[str, Json]:
    """The Node objects of the cluster."""
    return {node["metadata"]["name"]: node for node in api.nodes()}


def is_modelled(version: KubernetesVersion) -> bool:
    """Whether the model covers that release."""
    return version.release >= RELEASES[0]


def lost_counters(before: Json | None, after: Json | None) -> str:
    """Why the kubelet's counters were or may have been lost between two reads of a Node object; empty if they were not."""
    if before is None or after is None:
        return "the node was added or removed during the observation"
    one, other = _sign(before), _sign(after)
    if one.boot_id != other.boot_id:
        return "the node was booted during the observation, so its counters were lost"
    if one.ready_since != other.ready_since:
        return "the node was not Ready for a while; if its kubelet was restarted, its counters were lost"
    return ""


def _sign(node: Json) -> NodeSign:
    return sign_of(node, kubelet_started_ns=None)


def stated_configuration(
    name: str, version: KubernetesVersion, expected: Mapping[str, KubeletProfile]
) -> Configured | None:
    """The user's expectation of a node, without a curve if its kubelet would not start with the profile; None without one."""
    profile = expected.get(name, expected.get(EVERY_OTHER))
    if profile is None:
        return None
    return Configured(curve=shipped_curve(profile, version), by=f"expected: {profile.name}")


def read_configuration(kubelets: ConfigzReader, node: Json) -> Configured:
    """The curve by a kubelet's effective configuration. Raises ConfigzRefused."""
    config: dict[str, Any] = kubelets.config(node)
    return Configured(curve=shipped_curve(profile_of(config), kubelet_version(node)), by="configz")


def read_configurations(kubelets: ConfigzReader, nodes: Iterable[Json]) -> dict[str, Configured]:
    """The curves by the kubelets' effective configurations, a few read at a time; refusals are left out."""
    asked: dict[str, Future[Configured]] = {}
    with ThreadPoolExecutor(CONFIGZ_AT_ONCE) as pool:
        for node in nodes:
            asked[node["metadata"]["name"]] = pool.submit(read_configuration, kubelets, node)
            pause(CONFIGZ_EVERY_S)
    found: dict[str, Configured] = {}
    for name, answer in asked.items():
        try:
            found[name] = answer.result()
        except KubeError as error:
            log.warning("%s", error)
    return found


WORTH_SHARING_LOOPS = 200
"""Crash loops from which on all processors judge: a further process needs a second to start, a loop some milliseconds."""


def _judged(cases: Iterable[Callable[[], NodeFinding]]) -> list[NodeFinding]:
    return [each() for each in cases]


TOO_OLD = "its release is older than the model covers"
NOT_SEEN_AGAIN = "whether it was booted or not Ready could not be read at the end"


def findings_of(
    nodes: Mapping[str, Json],
    loops: Mapping[str, Sequence[CrashLoop]],
    configured: Mapping[str, Configured],
    *,
    before: Mapping[str, Json],
    after: Mapping[str, Json] | None,
) -> list[NodeFinding]:
    """One finding per node, first those that can be judged. `after` is None if the nodes could not be read at the end."""
    modelled = {name: node for name, node in nodes.items() if is_modelled(kubelet_version(node))}
    cases = [
        partial(
            judge_node,
            name,
            tuple(loops.get(name, ())),
            kubelet_version(node),
            configured=configured.get(name, NOT_KNOWN).curve,
            configured_by=configured.get(name, NOT_KNOWN).by,
            disturbed=NOT_SEEN_AGAIN if after is None else lost_counters(before.get(name), after.get(name)),
        )
        for name, node in modelled.items()
    ]
    is_much = sum(len(loops.get(name, ())) for name in modelled) >= WORTH_SHARING_LOOPS
    judged = on_all_processors(_judged, cases) if is_much else _judged(cases)
    beyond = [
        unjudged(name, loops.get(name, ()), kubelet_version=str(kubelet_version(node)), note=TOO_OLD)
        for name, node in nodes.items()
        if name not in modelled
    ]
    return judged + beyond


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
