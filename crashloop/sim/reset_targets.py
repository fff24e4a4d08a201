"""What RestartAllContainers removes: pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 getContainersToReset."""

from collections.abc import Collection

from crashloop.sim.behaviour import Behaviour
from crashloop.sim.pod import SimPod
from crashloop.spec.pod import Container

PAIR = 2
"""The containers of a pod that KEP-5532 calls simple."""


def reset_targets(
    pod: SimPod, source: Container, waiting: Collection[str], behaviour: Behaviour
) -> tuple[Container, ...]:
    """The containers in the order of their removal, all but ephemeral ones; a faulty kubelet leaves some out."""
    others = [each for each in (*pod.regulars, *pod.inits) if each is not source]
    targets = {
        "all": [*others, source],
        "source": [source],
        "regular": [*pod.regulars],
        "no sidecars": [*(each for each in others if not each.is_sidecar), source],
        "everything": [*pod.ephemerals, *others, source],
    }[behaviour.reset_scope]
    spared = set(waiting) if behaviour.reset_spares_waiting else set()
    if behaviour.reset_spares_done:
        spared |= {each.name for each in pod.regulars if each is not source and pod.exit_codes.get(each.name) == 0}
    return tuple(each for each in targets if each.name not in spared)


def reset_late_ns(pod: SimPod, behaviour: Behaviour) -> int:
    """How late a faulty kubelet carries RestartAllContainers out."""
    is_larger = len(pod.spec.containers) > PAIR or any(not each.is_sidecar for each in pod.inits)
    return behaviour.reset_late_ns or (behaviour.reset_late_in_larger_ns if is_larger else 0)
