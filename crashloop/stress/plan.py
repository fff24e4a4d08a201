"""The plan of a stress run: the profile as resolved for this host, and the nodes that it takes. Pure.

A load loses a restart rule that the kubelet of its node ignores, if no exit of the load needs it.
"""

from collections.abc import Callable, Sequence

import msgspec

from crashloop.cluster.provider import NodeRequest
from crashloop.errors import UsageError
from crashloop.model.gates import effective_gates
from crashloop.spec.plan import PlannedNode, RunPlan
from crashloop.spec.pod import Action
from crashloop.spec.profile import RESTART_ALL_GATE, RESTART_RULES_GATE, KubeletProfile
from crashloop.spec.version import KubernetesVersion
from crashloop.stress.loads import AnyLoad, Crash, Finish, exit_codes
from crashloop.stress.profile import PODS_PER_NODE, Stage, StressProfile, resolved


def heeded(name: str, load: AnyLoad, kubelet: KubeletProfile, version: KubernetesVersion) -> AnyLoad:
    """The load for a node: without a rule that the kubelet ignores, if no exit of the load needs it.

    An API server without the feature refuses pods with rules (1.33), or removes the rules. Raises UsageError for a load that
    needs rules on such a kubelet.
    """
    gates = effective_gates(kubelet, version)
    missing = [gate for gate in _gates_needed(load) if not gates.get(gate, False)]
    if not missing or not isinstance(load, Crash | Finish):
        return load
    if load.rule is None or any(load.rule.matches(code) for code in exit_codes(load)):
        raise UsageError(
            f"load {name!r}: its restart rule needs the feature gate {missing[0]}, which kubelet profile {kubelet.name!r} "
            f"does not enable in Kubernetes {version}.\nUse another profile or another version."
        )
    return msgspec.structs.replace(load, rule=None)


def _gates_needed(load: AnyLoad) -> tuple[str, ...]:
    """The feature gates that a load needs. A container restart policy is part of the same feature, but for that of a sidecar."""
    if isinstance(load, Crash) and load.own is not None:
        pod = load.own.pod
        ruled = any(each.rules or (each.restart_policy and not each.is_sidecar) for each in pod.containers)
        restarts_all = pod.restarts_all
    elif isinstance(load, Crash | Finish) and load.rule is not None:
        ruled, restarts_all = True, load.rule.action is Action.RESTART_ALL_CONTAINERS
    else:
        return ()
    return (*((RESTART_RULES_GATE,) if ruled else ()), *((RESTART_ALL_GATE,) if restarts_all else ()))


SUITE = "stress"

AFTER_S = 180.0
"""How much longer than the whole plan a pod may live, even if the load generator dies."""


class StressPlan(RunPlan, frozen=True, kw_only=True):
    """plan.json of a stress run; `nodes` are those of the load, in the same order."""

    load: StressProfile
    cores: int
    """CPUs of the host, which all nodes share."""
    listen: str | None = None
    """HOST[:PORT] to which the workers come from other machines; None if they are started on this host."""
    spread: dict[str, str] = {}
    """The Node objects that the only node of the load stands for: their label kubernetes.io/hostname, by their names. Empty: each
    node of the load stands for itself."""

    @property
    def taken(self) -> tuple[PlannedNode, ...]:
        """The nodes that the run takes: `nodes`, or those that the only one stands for."""
        if not self.spread:
            return self.nodes
        return tuple(PlannedNode(name=name, profile=self.nodes[0].profile) for name in self.spread)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """All rounds spelled out."""
        return tuple(self.load.each_stage())

    @property
    def kubelets(self) -> tuple[KubeletProfile, ...]:
        """Kubelet profile of each node of the load, in the same order."""
        return tuple(self.profile(node.profile) for node in self.nodes)

    @property
    def requests(self) -> tuple[NodeRequest, ...]:
        """The requested nodes."""
        return tuple(NodeRequest(name=node.name, profile=self.profile(node.profile)) for node in self.taken)

    def kubelet(self, node: str) -> KubeletProfile:
        """The kubelet profile of a node of the load, or of one that it stands for. Raises KeyError."""
        return self.profile({each.name: each.profile for each in (*self.taken, *self.nodes)}[node])

    @property
    def longest_s(self) -> float:
        """The longest duration of the load, without drains."""
        return sum(_longest_stage_s(stage) for stage in self.stages)


def plan_of(
    profile: StressProfile,
    *,
    provider: str,
    kubernetes_version: str,
    cores: int,
    kubelet: Callable[[str], KubeletProfile],
    kubelet_binary: str | None = None,
    reconfigures: bool = True,
    pods_each: int = PODS_PER_NODE,
) -> StressPlan:
    """The plan for a host with so many CPUs; `kubelet` finds the kubelet profile of a node.

    `kubelet_binary` is the user's own kubelet: of the node of the treatment, or without arms of all nodes. `reconfigures`:
    whether the provider can restart a kubelet with another configuration; if not, arms keep their places. `pods_each` is the
    most pods on a full node.

    Raises UsageError for a load with a restart rule that its node ignores, and for stages that need such a restart.
    """
    has_arms = any(node.arm for node in profile.nodes)
    kubelets = {node.name: kubelet(node.profile) for node in profile.nodes}
    for node in profile.nodes:
        if kubelet_binary is not None and (node.arm == "treatment" or not has_arms):
            kubelets[node.name] = with_own_kubelet(kubelets[node.name], kubelet_binary)
    version = KubernetesVersion.parse(kubernetes_version)
    loads = {name: heeded(name, load, kubelets[load.node], version) for name, load in profile.loads.items()}
    load = resolved(msgspec.structs.replace(profile, loads=loads), cores=cores, at_most=pods_each)
    if not reconfigures:
        if any(stage.exchanged for stage in profile.stages):
            raise UsageError(
                f"stress profile {profile.name!r} restarts kubelets with another configuration, "
                f"which provider {provider} cannot do."
            )
        design = msgspec.structs.replace(load.comparison, changes_places=False)
        load = msgspec.structs.replace(load, comparison=design)
    return plan_with(
        load, tuple(kubelets.values()), provider=provider, kubernetes_version=kubernetes_version, cores=cores
    )


def with_own_kubelet(profile: KubeletProfile, binary: str) -> KubeletProfile:
    """The same configuration for another kubelet, under a name of its own."""
    return msgspec.structs.replace(profile, name=f"{profile.name}-own-kubelet", kubelet_binary=binary)


def plan_with(
    load: StressProfile, kubelets: Sequence[KubeletProfile], *, provider: str, kubernetes_version: str, cores: int
) -> StressPlan:
    """The plan of a resolved load; `kubelets` are the kubelet profiles of its nodes, in the same order."""
    return StressPlan(
        suite=SUITE,
        scope=load.name,
        provider=provider,
        kubernetes_version=kubernetes_version,
        cores=cores,
        load=load,
        profiles=tuple({each.name: each for each in kubelets}.values()),
        nodes=tuple(
            PlannedNode(name=node.name, profile=kubelet.name)
            for node, kubelet in zip(load.nodes, kubelets, strict=True)
        ),
    )


def _longest_stage_s(stage: Stage) -> float:
    users = sum(int(count) for count in stage.users.values())
    return stage.washout_s + users / stage.spawn_per_s + stage.settle_s + stage.duration_s
