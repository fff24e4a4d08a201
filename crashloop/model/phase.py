"""The phase of a pod, from the states of its containers.

Theory of operation. A container counts by its state and by its latest exit: one that waits to be restarted counts as
stopped, one that never ran as waiting. The first line that applies decides:
1. a regular init container failed and is not restarted: Failed, whatever the pod's restart policy;
2. an init container is still to do, or a container never started: Pending;
3. at least one container runs: Running;
4. all regular containers stopped: Running if one of them will be restarted, else Succeeded if all exited 0, else Failed.
Sidecars that stopped do not count. Of a pod that is deleted, nothing is restarted any more.
Source: documentation, Pod Lifecycle, Pod phase; KEP-5307, Design Details; pkg/kubelet/kubelet_pods.go@v1.37.1 getPhase.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from crashloop.model.restart import Decision, decide
from crashloop.model.variants import CLEAN_EXIT_AFTER_KILL_STOPS, DOCUMENTED, RESTART_ALL_STAYS_RUNNING
from crashloop.spec.pod import Container, ContainerKind, Pod
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
    """Of a running sidecar: whether its startup probe has succeeded, or it has none."""
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

    `initialized`: the pod has been initialized before, so a sidecar that starts again does not make it Pending.
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
    if any(_failed(states[each.name]) and not restarts(each) for each in inits):
        return FAILED
    if any(_to_do(states[each.name]) for each in inits) or (not initialized and any(map(_holds_up, sidecars))):
        return PENDING
    # podHasInitialized asks the runtime for a regular container, and RestartAllContainers has removed them all.
    if all(states[each.name].being_reset for each in regulars) and any(
        each.kind is StateKind.RUNNING for each in sidecars
    ):
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


def _never_started(state: KnownState) -> bool:
    return state.kind is StateKind.WAITING and state.last_exit_code is None


def _to_do(state: KnownState) -> bool:
    """A regular init container that runs or has yet to run for the first time."""
    return state.kind is StateKind.RUNNING or _never_started(state)


def _failed(state: KnownState) -> bool:
    return state.stopped and state.last_exit_code != 0


def _holds_up(sidecar: KnownState) -> bool:
    """A sidecar that keeps the pod from being initialized."""
    return _never_started(sidecar) or (sidecar.kind is StateKind.RUNNING and not sidecar.started)
