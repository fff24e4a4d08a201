"""The condition Initialized of a pod: it follows its init containers and sidecars, and restarts keep it.

Theory of operation. It is True once a regular container runs or has ended, or all init containers have succeeded and all sidecars
have started. While init containers or sidecars are down again and the regular containers wait, it stays True where the gate
RestartAllContainersOnContainerExits is on; without that gate it is False for as long, and nobody promises either
(pkg/kubelet/status/generate.go@v1.37.1 GeneratePodInitializedCondition).
"""

from collections.abc import Iterator
from typing import NamedTuple

from crashloop.checks.checker import Need, Seen, checker
from crashloop.checks.completeness import address_lost, lacking
from crashloop.checks.finding import Finding, fail
from crashloop.checks.readiness import goes_on
from crashloop.history.event import Channel
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import INITIALIZED, StatusReport
from crashloop.model.gates import is_enabled
from crashloop.restarts.case import Case
from crashloop.restarts.lives import ran
from crashloop.spec.pod import Container, ContainerKind, ProbeKind
from crashloop.spec.profile import RESTART_ALL_GATE
from crashloop.words import at_lines


class _InitializedDue(NamedTuple):
    """What Initialized is to be, and why: the end of a sentence, and a further line that it rests on."""

    value: bool
    because: str
    lines: tuple[int, ...] = ()


@checker("initialized", Need("statuses", 1, "status", f"with {INITIALIZED}"), watch="a status", once=True)
def check_initialized(case: Case, seen: Seen) -> Iterator[Finding]:
    """Initialized MUST be True once the pod's init containers have succeeded and its sidecars have started, and from then on.

    Beside it, PodScheduled MUST be True, and startTime, and podIP while a container runs, MUST be given: a kubelet states pods
    of its node alone (pkg/kubelet/kubelet_pods.go@v1.37.1 generateAPIPodStatus). Judged of pods that have not ended and that
    nobody deletes; that an address stays is judged to the end.
    """
    after_restart = before = 0
    for pod in case.pods:
        yield from address_lost(case, pod)
        first_true: StatusReport | None = None
        for status in (each for each in pod.statuses if each.initialized is not None and goes_on(each)):
            yield from lacking(case, status)
            due = _initialized_due(case, pod, status, first_true)
            seen["statuses"] += 1
            before += not status.initialized
            after_restart += bool(status.initialized) and any(
                each.restart_count and each.state.kind != "running" for each in status.containers.values()
            )
            if due is not None and due.value is not status.initialized:
                lines = (*due.lines, status.line)
                said = f"a status says that {INITIALIZED} of the pod is {status.initialized} {at_lines(lines)}"
                yield fail(f"{said}; {due.because}.", *lines)
            if status.initialized and first_true is None:
                first_true = status
    seen.facts |= {"after_restart": after_restart, "before": before}


def _initialized_due(
    case: Case, pod: PodHistory, status: StatusReport, first_true: StatusReport | None
) -> _InitializedDue | None:
    """What is due by one status and the first that said True; None: it may be either."""
    containers = case.scenario.pod.containers
    for each in containers:
        report = status.containers.get(each.name)
        if each.kind is ContainerKind.REGULAR and report is not None and report.state.kind != "waiting":
            return _InitializedDue(True, f'"{each.name}" has started')
    inits = [each for each in containers if each.kind is ContainerKind.INIT]
    undone = [each for each in inits if not _is_done(each, status)]
    if not undone and any(each.probe(ProbeKind.STARTUP) for each in inits):
        return None  # between the success of a sidecar's startup probe and the next status that is made it may be False still
    if not undone:
        return _InitializedDue(True, "its init containers are done" if inits else "it has no init containers")
    if first_true is None:
        never = [each for each in undone if _was_never_done(case, pod, each, status)]
        return _InitializedDue(False, f'"{never[0].name}" is not done') if never else None
    return _InitializedDue(True, "it was True before", (first_true.line,)) if _keeps(case, pod, status) else None


def _is_done(container: Container, status: StatusReport) -> bool:
    """Whether an init container has succeeded, or a sidecar has started."""
    report = status.containers.get(container.name)
    return report is not None and (report.started if container.is_sidecar else report.ready)


def _was_never_done(case: Case, pod: PodHistory, container: Container, status: StatusReport) -> bool:
    """Whether ground truth shows that a True which no status has shown could not come before."""
    if case.restarts_all or case.scenario.interventions or len({each.sandbox_id for each in pod.sandboxes}) > 1:
        return False
    if Channel.RUNTIME not in pod.channels or any(case.recording.gaps_of(Channel.RUNTIME, 0, status.t_ns)):
        return False
    instances = ran(pod, container.name)
    if container.is_sidecar:
        return all(each.start_ns is not None and each.start_ns > status.t_ns for each in instances)
    return all(each.exit_code != 0 or (each.exit_ns is not None and each.exit_ns > status.t_ns) for each in instances)


def _keeps(case: Case, pod: PodHistory, status: StatusReport) -> bool:
    """Whether the kubelet of the status keeps a True. Of a static pod it forgets it at its own restart."""
    kubelet = case.in_force_at(status.t_ns)
    return is_enabled(RESTART_ALL_GATE, kubelet.gates, kubelet.version) and not case.later and not pod.mirrors
