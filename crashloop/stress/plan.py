"""The plan of a stress run: the profile as resolved for this host, and the nodes that it takes. Pure."""

from collections.abc import Callable

import msgspec

from crashloop.cluster.provider import NodeRequest
from crashloop.spec.plan import PlannedNode
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import KubernetesVersion
from crashloop.stress.profile import Stage, StressProfile, resolved
from crashloop.stress.rules import heeded

STRESS_PLAN_FORMAT = "crashloop.stress-plan/1"

AFTER_S = 180.0
"""How much longer than the whole plan a pod may live, even if the load generator dies."""


class StressPlan(msgspec.Struct, frozen=True, kw_only=True):
    """stress.json."""

    format: str = STRESS_PLAN_FORMAT
    profile: StressProfile
    provider: str
    kubernetes_version: str
    cores: int
    """CPUs of the host, which all nodes share."""
    kubelets: tuple[KubeletProfile, ...]
    """Kubelet profile of each node of the profile, in the same order."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        """All rounds spelled out."""
        return tuple(self.profile.each_stage())

    @property
    def planned_nodes(self) -> tuple[PlannedNode, ...]:
        return tuple(
            PlannedNode(name=node.name, profile=kubelet.name)
            for node, kubelet in zip(self.profile.nodes, self.kubelets, strict=True)
        )

    @property
    def requests(self) -> tuple[NodeRequest, ...]:
        """The requested nodes."""
        return tuple(
            NodeRequest(name=node.name, profile=kubelet)
            for node, kubelet in zip(self.profile.nodes, self.kubelets, strict=True)
        )

    def kubelet(self, node: str) -> KubeletProfile:
        """The kubelet profile of a node of the profile. Raises KeyError."""
        return {each.name: kubelet for each, kubelet in zip(self.profile.nodes, self.kubelets, strict=True)}[node]

    @property
    def longest_s(self) -> float:
        """The longest duration of the load, without drains."""
        return sum(_longest_s(stage) for stage in self.stages)


def plan_of(
    profile: StressProfile,
    *,
    provider: str,
    kubernetes_version: str,
    cores: int,
    kubelet: Callable[[str], KubeletProfile],
) -> StressPlan:
    """The plan for a host with so many CPUs; `kubelet` finds the kubelet profile of a node.

    Raises UsageError for a load with a restart rule that its node ignores.
    """
    kubelets = {node.name: kubelet(node.profile) for node in profile.nodes}
    version = KubernetesVersion.parse(kubernetes_version)
    loads = {name: heeded(name, load, kubelets[load.node], version) for name, load in profile.loads.items()}
    return StressPlan(
        profile=resolved(msgspec.structs.replace(profile, loads=loads), cores=cores),
        provider=provider,
        kubernetes_version=kubernetes_version,
        cores=cores,
        kubelets=tuple(kubelets.values()),
    )


def _longest_s(stage: Stage) -> float:
    users = sum(int(count) for count in stage.users.values())
    return users / stage.spawn_per_s + stage.settle_s + stage.duration_s
