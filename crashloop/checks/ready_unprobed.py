"""Checker of `ready` in the status of a container that no readiness probe asks: it follows from the state beside it.

Theory of operation. The kubelet makes `ready` from the state of the same status, and waits for nothing but a startup probe:
pkg/kubelet/prober/prober_manager.go@v1.37.1 UpdatePodStatus. So it is judged within one status, and no delay on its way matters.
A success of a startup probe is written into the last status that was made, without `ready`, which the next one has
(pkg/kubelet/status/status_manager.go@v1.37.1 SetContainerStartup). What becomes of a pod at its end, containers included, is
written over its last status as well (TerminatePod).
"""

from collections.abc import Iterator

from crashloop.checks.evidence import too_few, unwatched
from crashloop.checks.finding import Checked, Finding, fail
from crashloop.checks.ready_truth import ready_without_running
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import StatusReport
from crashloop.model.phase import FAILED, SUCCEEDED
from crashloop.restarts.case import Case
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.probe import ProbeKind
from crashloop.words import at_lines


def check_ready_unprobed(case: Case) -> Checked:
    """A container without a readiness probe MUST be said to be ready if and only if it runs and has started.

    Judged of regular containers and sidecars of pods that have not ended and that nobody deletes. Needs min_statuses (1) statuses
    of such a container that runs, min_restarted (0) of them after a restart and min_down (0) of one that does not run.
    """
    findings: list[Finding] = []
    running = restarted = down = 0
    for pod in case.pods:
        for spec in filter(_is_asked, case.scenario.pod.containers):
            for status in _of_living(pod, spec.name):
                report = status.containers[spec.name]
                runs = report.state.kind == "running"
                running += runs
                restarted += runs and report.restart_count > 0
                down += not runs
                findings += ready_without_running(status, spec)
                findings += _not_ready(status, spec)
    if not findings:
        findings += unwatched(case, "a status")
    if not findings:
        findings += too_few(case, running, "min_statuses", 1, "statement", "about a running container")
        findings += too_few(case, restarted, "min_restarted", 0, "statement", "about one that was restarted")
        findings += too_few(case, down, "min_down", 0, "statement", "about one that does not run")
    return Checked(findings=tuple(findings[:1]), facts={"running": running, "restarted": restarted, "down": down})


def _is_asked(container: Container) -> bool:
    has_probe = any(each.kind is ProbeKind.READINESS for each in container.probes)
    return not has_probe and (container.kind is ContainerKind.REGULAR or container.is_sidecar)


def _of_living(pod: PodHistory, container: str) -> Iterator[StatusReport]:
    """The statuses that speak of the container while its pod goes on."""
    for each in pod.statuses:
        is_over = each.phase in (SUCCEEDED, FAILED) or each.deletion_ns is not None or each.is_ending
        if container in each.containers and not is_over:
            yield each


def _not_ready(status: StatusReport, spec: Container) -> Iterator[Finding]:
    report = status.containers[spec.name]
    awaits_startup = any(each.kind is ProbeKind.STARTUP for each in spec.probes)
    if not report.ready and report.started and report.state.kind == "running" and not awaits_startup:
        said = f'a status says that "{spec.name}" is not ready {at_lines([status.line])}'
        yield fail(f"{said}; it runs, has started and has no readiness probe.", status.line)
