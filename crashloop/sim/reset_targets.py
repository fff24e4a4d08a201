"""What RestartAllContainers removes: pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 getContainersToReset."""

from collections.abc import Collection

from crashloop.sim.behaviour import Behaviour
from crashloop.sim.pod import SimPod
from crashloop.spec.pod import Container


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
