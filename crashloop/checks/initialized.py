"""Checker of the condition Initialized of a pod: it follows from the container statuses beside it, and restarts keep it.

Theory of operation. The kubelet makes it from the statuses that it writes with it, so it is judged within one status. It is True
once a regular container runs or has ended, or all init containers have succeeded and all sidecars have started. While init
containers or sidecars are down again and the regular containers wait, it stays True where the gate
RestartAllContainersOnContainerExits is on; without that gate it is False for as long, and nobody promises either.
Source: pkg/kubelet/status/generate.go@v1.37.1 GeneratePodInitializedCondition. A success of a startup probe is written into the
last status that was made, without this condition (pkg/kubelet/status/status_manager.go@v1.37.1 SetContainerStartup).
"""

from typing import NamedTuple

from crashloop.checks.evidence import too_few, unwatched
from crashloop.checks.finding import Checked, fail
from crashloop.history.event import Channel
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import INITIALIZED, StatusReport
from crashloop.model.gates import is_enabled
from crashloop.model.phase import FAILED, SUCCEEDED
from crashloop.restarts.case import Case
from crashloop.restarts.lives import ran
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.probe import ProbeKind
from crashloop.spec.profile import RESTART_ALL_GATE
from crashloop.words import at_lines


class _Due(NamedTuple):
    """What Initialized is to be, and why: the end of a sentence, and a further line that it rests on."""

    value: bool
    because: str
    lines: tuple[int, ...] = ()


def check_initialized(case: Case) -> Checked:
    """Initialized MUST be True once the pod's init containers have succeeded and its sidecars have started, and from then on.

    Judged of pods that have not ended and that nobody deletes. Needs min_statuses (1) statuses with the condition.
    """
    findings = []
    seen = after_restart = before = 0
    for pod in case.pods:
        first_true: StatusReport | None = None
        for status in pod.statuses:
            is_over = status.phase in (SUCCEEDED, FAILED) or status.deletion_ns is not None or status.is_ending
            if status.initialized is None or is_over:
                continue
            due = _due(case, pod, status, first_true)
            seen += 1
            after_restart += status.initialized and any(
                each.restart_count and each.state.kind != "running" for each in status.containers.values()
            )
            before += not status.initialized
            if due is not None and due.value is not status.initialized:
                lines = (*due.lines, status.line)
                said = f"a status says that {INITIALIZED} of the pod is {status.initialized} {at_lines(lines)}"
                findings.append(fail(f"{said}; {due.because}.", *lines))
            if status.initialized and first_true is None:
                first_true = status
    if not findings:
        findings += unwatched(case, "a status")
    if not findings:
        findings += too_few(case, seen, "min_statuses", 1, "status", f"with {INITIALIZED}")
    facts = {"statuses": seen, "after_restart": after_restart, "before": before}
    return Checked(findings=tuple(findings[:1]), facts=facts)


def _due(case: Case, pod: PodHistory, status: StatusReport, first_true: StatusReport | None) -> _Due | None:
    """What is due by one status and the first that said True; None: it may be either."""
    containers = case.scenario.pod.containers
    for each in containers:
        report = status.containers.get(each.name)
        if each.kind is ContainerKind.REGULAR and report is not None and report.state.kind != "waiting":
            return _Due(True, f'"{each.name}" has started')
    inits = [each for each in containers if each.kind is ContainerKind.INIT]
    undone = [each for each in inits if not _is_done(each, status)]
    if not undone:
        # Between the success of a sidecar's startup probe and the next status that is made it may be False still.
        is_probed = any(each.kind is ProbeKind.STARTUP for one in inits for each in one.probes)
        return (
            None if is_probed else _Due(True, "its init containers are done" if inits else "it has no init containers")
        )
    if first_true is None:
        never = [each for each in undone if _was_never_done(case, pod, each, status)]
        return _Due(False, f'"{never[0].name}" is not done') if never else None
    return _Due(True, "it was True before", (first_true.line,)) if _keeps(case, pod, status) else None


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
