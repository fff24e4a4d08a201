"""What comes before the first sync of a pod: the scheduler finds a node for it, and the kubelet admits it.

pkg/scheduler/framework/plugins/nodedeclaredfeatures and pkg/kubelet/lifecycle/handlers.go declaredFeaturesAdmitHandler
@v1.37.1; component-helpers nodedeclaredfeatures/features/restartallcontainers@v0.37.1.
"""

from typing import Any

from crashloop.sim.behaviour import Behaviour
from crashloop.sim.config import DECLARED, Effective
from crashloop.spec.pod import Pod

UNSCHEDULABLE: dict[str, Any] = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
}
REJECTED: dict[str, Any] = {"phase": "Failed", "reason": "PodFeatureUnsupported"}
FIRST_WITH_DECLARED = (1, 36)
"""The first release whose components compare what pods need with what nodes declare."""


def holds_back(pod: Pod, node: Effective, release: tuple[int, int], behaviour: Behaviour) -> bool:
    """Whether a scheduler of that release leaves the pod Pending beside this node."""
    return release >= FIRST_WITH_DECLARED and _misses(pod, node, behaviour.scheduler_misses)


def rejects(pod: Pod, node: Effective, behaviour: Behaviour) -> bool:
    """Whether the kubelet fails a pod that is bound to its node."""
    return node.gates.get(DECLARED, False) and _misses(pod, node, behaviour.kubelet_misses)


def _misses(pod: Pod, node: Effective, what: str) -> bool:
    """Whether the node lacks what the pod needs: a feature that it does not declare, nothing, or any rule of a restart."""
    declares = node.gates.get(DECLARED, False) and node.reset
    match what:
        case "nothing":
            return False
        case "rules":
            return any(each.rules for each in pod.containers)
        case _:
            return pod.restarts_all and not declares
