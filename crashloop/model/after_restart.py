"""What a container finds anew after a restart and what it keeps: files, environment, image, last exit, delay, count, probes.

Theory of operation. A restart makes a new container in the same pod: its root filesystem begins anew, its environment is read
again from the objects, its postStart hook runs once, and the pod's volumes stay as they are. A loop inside of the container is
no restart, so all of its passes share one root filesystem. What a life finds stands in its journal, by the names of notes.
Source: KEP-5593, "Task isolation", "Kubelet overhead analysis", "Appendix A"; KEP-5307, "Wrapping entrypoint";
pkg/kubelet/kubelet_pods.go@v1.37.1 makeEnvironmentVariables, pkg/kubelet/kuberuntime/kuberuntime_container.go startContainer.

RestartAllContainers: the trigger is a container whose latest exit first matches a rule with that action: the source. All
init and regular containers of the pod are removed; running ones are killed with 2 s of grace and without preStop, one after
the other: targets before sources, regular containers before init containers. Then the pod starts over from its first init
container in the same sandbox, with the same UID, IP and volumes.
Source: KEP-5532, Design Details; pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 computePodActions,
getContainersToReset; pkg/kubelet/kubelet_pods.go@v1.37.1 convertToAPIContainerStatuses.

Another sandbox: the kubelet removes the init containers of the pod first, and their exits with them.

Images: a failed pull holds the next one back for 10 s, doubled by each further failure up to 300 s. The counter is kept for each
pod and image, apart from that of restarts, and is forgotten after twice its own maximum. Whether the pod is restarted
meanwhile, and by which maximum delay, has no part in it.
Source: KEP-5593 and KEP-4603, "Relationship with ImagePullBackOff"; documentation, Images, "ImagePullBackOff";
pkg/kubelet/kubelet.go@v1.37.1 imageBackOffPeriod, MaxImageBackOff, pkg/kubelet/images/image_manager.go pullImage.
"""

from collections.abc import Iterator, Mapping

from crashloop.model.variants import (
    DOCUMENTED,
    FORGOTTEN_RUNS_AGAIN,
    READY_BY_ITS_KUBELET,
    RESTART_ALL_HIDES_EXIT_CODE,
    RESTART_ALL_LOSES_PROBES,
    SANDBOX_FORGETS_DELAY,
    SANDBOX_HIDES_EXIT,
    SIDECARS_PROBED_AT_END,
    STARTED_BY_ITS_KUBELET,
    STARTED_CARRIES_OVER,
)
from crashloop.spec.dependency import PullPolicy
from crashloop.spec.pod import Container, ContainerKind

ROOT, VOLUME, PASSES, HOOK, HOOK_AGAIN = "root", "volume", "passes", "hook", "hook.again"
SKIPPED = "skipped"
"""How many lives of its program a pod leaves out."""
FRESH, USED, RAN = "fresh", "used", "ran"

HOOK_WITHIN_S = 0.5
"""From a container's first note to that of its hook on a host that does not hold it up; 0.06 s to 0.13 s were measured."""
KNOWN_WITHIN_S = 5.0
"""A kubelet knows a changed ConfigMap or Secret within this time: it watches those of its pods."""


def root_notes(container: Container) -> Mapping[str, str]:
    """What every life is to note of its root filesystem, by name."""
    fresh = {ROOT: FRESH} if container.program.marks_root else {}
    return fresh | ({PASSES: str(container.program.passes)} if container.program.passes else {})


def volume_notes(container: Container, *, is_first: bool) -> Mapping[str, str]:
    """What a life is to note of the pod's volume in memory, by name: each finds the mark of the first."""
    return {VOLUME: FRESH if is_first else USED} if container.program.marks_volume else {}


def hook_notes(container: Container) -> Mapping[str, str]:
    """What the hook of every life is to note, by name."""
    return {HOOK: RAN} if container.post_start else {}


KILLED = 137
"""What stands for the exit code of every instance that RestartAllContainers removed."""


def counts_as_started(had_started: bool, was_killed: bool, deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether an instance counts as started before its startup probe is asked, after one that had started or was killed."""
    return had_started and was_killed and STARTED_CARRIES_OVER in deviations


def starts_with_its_kubelet(deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether an instance that runs when its kubelet starts counts as started until that kubelet asks its startup probe."""
    return STARTED_BY_ITS_KUBELET in deviations


_KEPT_AFTER_S, _KEEPS_SINCE = 10.0, (1, 35)
"""Of what has run for so long, a kubelet of that release or a later one keeps what was stated: kubeletRestartGracePeriod."""


def is_ready_with_its_kubelet(ran_s: float, release: tuple[int, int], deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether an instance that has run for so long when its kubelet starts counts as ready until its readiness probe is asked.

    Its start and that of the kubelet are known to within a second each.
    """
    return READY_BY_ITS_KUBELET in deviations and (release < _KEEPS_SINCE or ran_s < _KEPT_AFTER_S + 2)


def stands_still(deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether the status of a pod is written no more once what had ended runs again: nothing may leave that state."""
    return FORGOTTEN_RUNS_AGAIN in deviations


def shown_exit_code(exit_code: int | None, deviations: frozenset[str] = DOCUMENTED) -> int | None:
    """Exit code that the last state of a container with that exit code shows once it runs again."""
    # "its previous exit is visible in the container status" -- KEP-5307, Monitoring
    return KILLED if RESTART_ALL_HIDES_EXIT_CODE in deviations else exit_code


def probes_go_on(container: Container, release: tuple[int, int], deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether a container that had exited for good is probed again once RestartAllContainers has started it.

    From 1.37 on (kubernetes/kubernetes#138930) only a probe of its own that has gone on keeps another one from that.
    """
    # "Probes became active again" -- KEP-5532, Restart Phases
    return RESTART_ALL_LOSES_PROBES not in deviations or (release >= (1, 37) and len(container.probes) == 1)


def is_asked_at_the_end(container: Container, deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether its liveness and startup probes go on while its pod ends."""
    return container.is_sidecar and SIDECARS_PROBED_AT_END in deviations


def may_be_hidden(container: Container, deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether the next instance may show no last exit of a container that ended with the sandbox of its pod."""
    # "Details about the container's last termination condition." -- k8s.io/api/core/v1/types.go@v0.37.1, lastState
    return container.kind is ContainerKind.INIT and SANDBOX_HIDES_EXIT in deviations


def ends_delay(container: Container, deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether its removal ends its delay, as if it had never run."""
    return container.kind is ContainerKind.INIT and SANDBOX_FORGETS_DELAY in deviations


def counts_anew(container: Container, deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether the restarts of its next instances are counted from 0, as if it had never run."""
    return ends_delay(container, deviations)


_FIRST_PULL_DELAY_S, _MOST_PULL_DELAY_S = 10.0, 300.0


def pull_delays() -> Iterator[float]:
    """The least time from each failed pull to the next, without end."""
    delay_s = _FIRST_PULL_DELAY_S
    while True:
        yield delay_s
        delay_s = min(2 * delay_s, _MOST_PULL_DELAY_S)


def pulls_at_restart(policy: PullPolicy) -> int:
    """How often a restart pulls an image that its node has."""
    return 1 if policy is PullPolicy.ALWAYS else 0
