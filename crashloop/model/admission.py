"""Whether a pod gets to run: the scheduler places it on its node, and the kubelet takes it.

Theory of operation. Of the features here only RestartAllContainersOnContainerExits is declared by nodes: the scheduler
keeps pods with such a rule from nodes without it, and a kubelet rejects one that is bound to it nevertheless, also when
it starts again and finds it running. ContainerRestartRules is not declared: a kubelet without it takes the pod and goes
by the pod's restart policy. What the API server makes of a pod is in validation.py.
Source: KEP-5532, Version Skew Strategy and Upgrade / Downgrade Strategy; KEP-5328 (NodeDeclaredFeatures);
pkg/scheduler/framework/plugins/nodedeclaredfeatures, pkg/kubelet/lifecycle/handlers.go@v1.37.1.
"""

from enum import StrEnum

from crashloop.model.gates import NODE_DECLARED_FEATURES_GATE, enabled_by_default, is_enabled
from crashloop.model.variants import DOCUMENTED, RESTART_ALL_OFF_REJECTS_POD
from crashloop.spec.pod import Action, Pod
from crashloop.spec.profile import RESTART_ALL_GATE
from crashloop.spec.version import KubernetesVersion


class Admission(StrEnum):
    """What becomes of a pod before any of its containers starts."""

    RUNS = "runs"
    REJECTED = "rejected"
    """Its kubelet fails it."""
    UNPLACED = "unplaced"
    """The scheduler leaves it Pending."""


def needs_restart_all(pod: Pod) -> bool:
    """Whether a pod requires a node with RestartAllContainersOnContainerExits."""
    return any(rule.action is Action.RESTART_ALL_CONTAINERS for each in pod.containers for rule in each.rules)


def kubelet_rejects(
    pod: Pod, gates: dict[str, bool], version: KubernetesVersion, deviations: frozenset[str] = DOCUMENTED
) -> bool:
    """Whether the kubelet fails a pod that is bound to it instead of running it."""
    # "the action is ignored" -- KEP-5532, Version Skew Strategy
    return (
        needs_restart_all(pod)
        and is_enabled(NODE_DECLARED_FEATURES_GATE, gates, version)
        and not is_enabled(RESTART_ALL_GATE, gates, version)
        and RESTART_ALL_OFF_REJECTS_POD in deviations
    )


def scheduler_places(
    pod: Pod, gates: dict[str, bool], version: KubernetesVersion, scheduler_version: KubernetesVersion
) -> bool:
    """Whether a scheduler with the gates of its release binds a pod to a node with these gates and that version."""
    declared = is_enabled(NODE_DECLARED_FEATURES_GATE, gates, version) and is_enabled(RESTART_ALL_GATE, gates, version)
    return (
        declared or not needs_restart_all(pod) or not enabled_by_default(NODE_DECLARED_FEATURES_GATE, scheduler_version)
    )
