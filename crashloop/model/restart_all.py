"""The effect of RestartAllContainers on every container of a pod.

Theory of operation. The trigger is a container whose latest exit first matches a rule with that action: the source. All
init and regular containers of the pod are removed; running ones are killed with 2 s of grace and without preStop, one after
the other: targets before sources, regular containers before init containers. Then the pod starts over from its first init
container in the same sandbox, with the same UID, IP and volumes.
A container counts a restart at its removal; a waiting container counts it at its start.
Source: KEP-5532, Design Details; pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 computePodActions,
getContainersToReset; pkg/kubelet/kubelet_pods.go@v1.37.1 convertToAPIContainerStatuses.
"""

from collections.abc import Mapping

import msgspec

from crashloop.model.phase import KnownState, StateKind
from crashloop.model.restart import Decision, decide
from crashloop.model.variants import DOCUMENTED, RESTART_ALL_HIDES_EXIT_CODE, RESTART_ALL_LOSES_PROBES
from crashloop.spec.scenario import Container, ContainerKind, Pod
from crashloop.spec.version import KubernetesVersion

KILLED = 137
_FIRST_THAT_KEEPS_LOGS = (1, 36)


class ContainerReset(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one container, in the order in which the kubelet gets to them."""

    container: str
    source: bool
    """Its exit triggered the reset."""
    killed: bool
    """It was running."""
    counts_at_once: bool
    """Its restartCount rises with the reset; else when it starts, and a first start counts nothing."""
    last_exit_code: int | None
    """Exit code that its last state shows once it runs again."""


def sources(
    pod: Pod, states: Mapping[str, KnownState], *, gates: dict[str, bool], version: KubernetesVersion
) -> tuple[str, ...]:
    """Names of the containers whose latest exit asks for RestartAllContainers."""
    return tuple(
        each.name for each in _concerned(pod) if _is_source(pod, each, states[each.name], gates=gates, version=version)
    )


def reset(
    pod: Pod,
    states: Mapping[str, KnownState],
    *,
    gates: dict[str, bool],
    version: KubernetesVersion,
    deviations: frozenset[str] = DOCUMENTED,
) -> tuple[ContainerReset, ...]:
    """What happens to each container that is left of the pod, in order; empty if no exit asks for it.

    `states` by container name, from the moment of the trigger.
    """
    triggering = sources(pod, states, gates=gates, version=version)
    if not triggering:
        return ()
    # "its previous exit is visible in the container status" -- KEP-5307, Monitoring
    hides = RESTART_ALL_HIDES_EXIT_CODE in deviations
    left = [each for each in _concerned(pod) if _is_left(states[each.name])]
    ordered = sorted(left, key=lambda each: (each.name in triggering, each.kind is ContainerKind.INIT))
    return tuple(_reset(each, states[each.name], each.name in triggering, hides=hides) for each in ordered)


def keeps_logs(version: KubernetesVersion) -> bool:
    """Whether the logs of removed containers stay: kubernetes/kubernetes#136963."""
    return version.release >= _FIRST_THAT_KEEPS_LOGS


def probes_go_on(deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether a container that had exited for good is probed again once RestartAllContainers has started it."""
    # "Probes became active again" -- KEP-5532, Restart Phases
    return RESTART_ALL_LOSES_PROBES not in deviations


def _reset(container: Container, state: KnownState, source: bool, *, hides: bool) -> ContainerReset:
    killed = state.kind is StateKind.RUNNING
    waiting = state.kind is StateKind.WAITING
    own_code = KILLED if killed else state.last_exit_code
    return ContainerReset(
        container=container.name,
        source=source,
        killed=killed,
        counts_at_once=not waiting,
        last_exit_code=KILLED if hides and not waiting else own_code,
    )


def _is_left(state: KnownState) -> bool:
    """Whether the runtime has an instance, dead or alive."""
    return state.stopped or state.kind is StateKind.RUNNING


def _concerned(pod: Pod) -> tuple[Container, ...]:
    """Ephemeral containers are left alone."""
    return (*pod.of_kind(ContainerKind.REGULAR), *pod.of_kind(ContainerKind.INIT))


def _is_source(
    pod: Pod, container: Container, state: KnownState, *, gates: dict[str, bool], version: KubernetesVersion
) -> bool:
    if not state.stopped or state.last_exit_code is None:
        return False
    decided = decide(pod, container, state.last_exit_code, gates=gates, version=version)
    return decided.decision is Decision.RESTART_ALL
