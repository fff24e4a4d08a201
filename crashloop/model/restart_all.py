"""What a container shows and does after RestartAllContainers has restarted it.

Theory of operation. The trigger is a container whose latest exit first matches a rule with that action: the source. All
init and regular containers of the pod are removed; running ones are killed with 2 s of grace and without preStop, one after
the other: targets before sources, regular containers before init containers. Then the pod starts over from its first init
container in the same sandbox, with the same UID, IP and volumes.
Source: KEP-5532, Design Details; pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 computePodActions,
getContainersToReset; pkg/kubelet/kubelet_pods.go@v1.37.1 convertToAPIContainerStatuses.
"""

from crashloop.model.variants import DOCUMENTED, RESTART_ALL_HIDES_EXIT_CODE, RESTART_ALL_LOSES_PROBES

KILLED = 137
"""What stands for the exit code of every instance that RestartAllContainers removed."""


def shown_exit_code(exit_code: int | None, deviations: frozenset[str] = DOCUMENTED) -> int | None:
    """Exit code that the last state of a container with that exit code shows once it runs again."""
    # "its previous exit is visible in the container status" -- KEP-5307, Monitoring
    return KILLED if RESTART_ALL_HIDES_EXIT_CODE in deviations else exit_code


def probes_go_on(deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether a container that had exited for good is probed again once RestartAllContainers has started it."""
    # "Probes became active again" -- KEP-5532, Restart Phases
    return RESTART_ALL_LOSES_PROBES not in deviations
