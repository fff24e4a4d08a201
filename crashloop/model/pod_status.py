"""What the API and the kubelet's metrics say of a pod: its phase, its waiting reason, the samples of its start.

Theory of operation of the phase. A container counts by its state and by its latest exit: one that waits to be restarted counts as
stopped, one that never ran as waiting. The first line that applies decides:
1. a regular init container failed and is not restarted: Failed, whatever the pod's restart policy;
2. an init container is still to do, or a container never started: Pending;
3. at least one container runs: Running;
4. all regular containers stopped: Running if one of them will be restarted, else Succeeded if all exited 0, else Failed.
Sidecars that stopped do not count. Of a pod that is deleted, nothing is restarted any more.
Source: documentation, Pod Lifecycle, Pod phase; KEP-5307, Design Details; pkg/kubelet/kubelet_pods.go@v1.37.1 getPhase.

The waiting reason, which upstream may reword, so it is only reported. A sync writes the pod's status before it decides about
starts, so a delay that one sync decides is visible from the next sync on. From 1.35 on an undisturbed pod is next synced when
the delay is over, 60 to 90 s later at most: a delay of up to 60 s shows for about a second before the restart. Up to 1.34 it
shows after 10 to 15 s. Any other sync shows it sooner. The free restart never shows it.
Source: pkg/kubelet/kubelet.go@v1.37.1 SyncPod; pkg/kubelet/pod_workers.go@v1.37.1 completeWork.

Samples of kubelet_pod_start_duration_seconds.
Source: KEP-5593, "Monitoring Requirements"; pkg/kubelet/kubelet.go@v1.37.1 SyncPod, whose condition takes each first sync of a
pod for its start.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from crashloop.model.lateness import DETECTION_S, POKE_S, latest_s, polls
from crashloop.model.restart import Decision, decide
from crashloop.model.variants import (
    CLEAN_EXIT_AFTER_KILL_STOPS,
    DOCUMENTED,
    POD_START_MEASURED_TWICE,
    RESTART_ALL_STAYS_RUNNING,
)
from crashloop.spec.pod import Container, ContainerKind, Pod
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion

PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"


class StateKind(StrEnum):
    """The state of a container, in the words of the API."""

    WAITING = "waiting"
    RUNNING = "running"
    TERMINATED = "terminated"


class KnownState(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one container at one moment."""

    kind: StateKind
    last_exit_code: int | None = None
    """Exit code of the latest exit, the present one if terminated; None if it never exited."""
    killed: bool = False
    """The latest exit was a kill by a failed liveness or startup probe."""
    started: bool = True
    """Of a running sidecar: whether its startup probe has succeeded, or, without one, whether a status has shown it running."""
    being_reset: bool = False
    """RestartAllContainers has removed it, and it has not been started again."""

    @property
    def stopped(self) -> bool:
        return self.kind is not StateKind.RUNNING and self.last_exit_code is not None


NEVER_STARTED = KnownState(kind=StateKind.WAITING)
IS_RUNNING = KnownState(kind=StateKind.RUNNING)


def terminated(exit_code: int, *, killed: bool = False) -> KnownState:
    """Stopped with `exit_code`, by a probe's kill or not; restarted later or not."""
    return KnownState(kind=StateKind.TERMINATED, last_exit_code=exit_code, killed=killed)


def phase(
    pod: Pod,
    states: Mapping[str, KnownState],
    *,
    gates: dict[str, bool],
    version: KubernetesVersion,
    initialized: bool = False,
    deviations: frozenset[str] = DOCUMENTED,
) -> str:
    """Phase of a pod that is not being deleted. `states` by container name; ephemeral containers are left out.

    `initialized`: its sandbox has had a regular container that RestartAllContainers has not removed, so a sidecar that starts
    again does not make it Pending (pkg/kubelet/container/helpers.go@v1.37.1 HasAnyActiveRegularContainerStarted).
    """
    sidecars = [states[each.name] for each in pod.of_kind(ContainerKind.INIT) if each.is_sidecar]
    inits = [each for each in pod.of_kind(ContainerKind.INIT) if not each.is_sidecar]
    regulars = pod.of_kind(ContainerKind.REGULAR)

    def restarts(container: Container) -> bool:
        state = states[container.name]
        if state.being_reset:
            return True
        if state.last_exit_code is None:
            return False
        # A restart that was put off is decided anew, by the exit code: only 0 then makes a difference.
        looks_done = state.killed and state.last_exit_code == 0 and CLEAN_EXIT_AFTER_KILL_STOPS in deviations
        decided = decide(
            pod,
            container,
            state.last_exit_code,
            gates=gates,
            version=version,
            killed=state.killed and not looks_done,
            deviations=deviations,
        )
        return decided.decision is not Decision.STOP

    # "pod phase Pending while the containers are restarted" -- KEP-5532, Design Details
    if any(state.being_reset for state in states.values()) and RESTART_ALL_STAYS_RUNNING not in deviations:
        return PENDING
    if any(_has_failed(states[each.name]) and not restarts(each) for each in inits):
        return FAILED
    if any(_to_do(states[each.name]) for each in inits) or (not initialized and any(map(_holds_up, sidecars))):
        return PENDING
    if any(_never_started(state) for state in (*sidecars, *(states[each.name] for each in regulars))):
        return PENDING
    if any(state.kind is StateKind.RUNNING for state in (*sidecars, *(states[each.name] for each in regulars))):
        return RUNNING
    if any(restarts(each) for each in regulars):
        return RUNNING
    return ended(states[each.name].last_exit_code for each in regulars)


def ended(exit_codes: Iterable[int | None]) -> str:
    """Phase of a pod whose regular containers exited with these codes and are not restarted."""
    return SUCCEEDED if all(code == 0 for code in exit_codes) else FAILED


def knows_started(version: KubernetesVersion) -> bool:
    """Whether a kubelet knows for the phase which sidecars have started: by their old status, which it reads as of 1.35.

    Source: pkg/kubelet/kubelet_pods.go@v1.37.1 convertToAPIContainerStatuses.
    """
    return version.release >= (1, 35)


def _never_started(state: KnownState) -> bool:
    return state.kind is StateKind.WAITING and state.last_exit_code is None


def _to_do(state: KnownState) -> bool:
    """A regular init container that runs or has yet to run for the first time."""
    return state.kind is StateKind.RUNNING or _never_started(state)


def _has_failed(state: KnownState) -> bool:
    return state.stopped and state.last_exit_code != 0


def _holds_up(sidecar: KnownState) -> bool:
    """A sidecar that keeps the pod from being initialized."""
    return _never_started(sidecar) or (sidecar.kind is StateKind.RUNNING and not sidecar.started)


WAITING_REASON = "CrashLoopBackOff"
_LATEST_RESYNC_S = 91.0
_LATEST_POLL_S = 16.0


def shows_by_s(
    due_s: float, version: KubernetesVersion, *, mode: Mode, other_sync_sources: bool = False
) -> float | None:
    """By when CrashLoopBackOff shows during a wait of `due_s`, in seconds from the exit; None for a free restart."""
    if due_s <= 0:
        return None
    over_s = latest_s(due_s, version, mode=mode, other_sync_sources=other_sync_sources)
    if mode is Mode.ANNOTATED:
        return min(over_s, DETECTION_S + POKE_S)
    if other_sync_sources:
        return over_s
    return min(over_s, DETECTION_S + (_LATEST_POLL_S if polls(version) else _LATEST_RESYNC_S))


FOUND_PODS = 5
"""Real kubelets also measure the pods that they find when they start: at most those of a worker of kind, whose kubelet the
provider restarts with kube-proxy, the network, DNS and storage on it."""


def most_start_samples(pods: int, deviations: frozenset[str] = DOCUMENTED) -> int:
    """The most samples of a kubelet that has started so many pods: one of each."""
    return 2 * pods + FOUND_PODS if POD_START_MEASURED_TWICE in deviations else pods
