"""Checker of the conditions Ready and ContainersReady of a pod against `ready` of its containers.

Theory of operation. The kubelet makes both from the container statuses that it writes with them, so they are judged within one
status, and no delay on its way matters. Ready may be False on its own: a readiness gate, or a controller that misses the node.
Both are False as soon as a pod fails, while its containers are still ended: the phase follows them
(pkg/kubelet/status/status_manager.go@v1.37.1 mergePodStatus).
"""

from collections.abc import Iterator

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail
from crashloop.history.statuses import CONTAINERS_READY, READY, StatusReport
from crashloop.model.phase import FAILED, SUCCEEDED
from crashloop.restarts.case import Case
from crashloop.spec.pod import Container, ContainerKind
from crashloop.words import at_lines, count


def check_ready_conditions(case: Case) -> Checked:
    """ContainersReady MUST be True if and only if all regular containers and sidecars are ready, and Ready only then.

    Needs min_statuses (1) statuses with the condition, of pods that have not failed or ended and that nobody deletes.
    """
    asked = [each for each in case.scenario.pod.containers if _is_asked(each)]
    reports = [
        each
        for pod in case.pods
        for each in pod.statuses
        if each.containers_ready is not None
        and each.phase not in (SUCCEEDED, FAILED)
        and each.deletion_ns is None
        and not each.is_ending
    ]
    findings = [finding for each in reports for finding in _wrong(each, asked)][:1]
    if not findings:
        findings += too_few(case, len(reports), "min_statuses", 1, "status", f"with {CONTAINERS_READY}")
    return Checked(findings=tuple(findings), facts={"statuses": len(reports)})


def _is_asked(container: Container) -> bool:
    return container.kind is ContainerKind.REGULAR or container.is_sidecar


def _wrong(status: StatusReport, asked: list[Container]) -> Iterator[Finding]:
    """A condition of one status that contradicts its container statuses."""
    known = [status.containers[each.name] for each in asked if each.name in status.containers]
    unready = len(asked) - sum(each.ready for each in known)
    due = unready == 0
    containers = (
        "all its containers are"
        if due
        else f"{count(unready, 'container')} of it {'is' if unready == 1 else 'are'} not"
    )
    for condition, stated in ((CONTAINERS_READY, status.containers_ready), (READY, status.ready)):
        if stated is not due and (stated or condition == CONTAINERS_READY):
            sentence = f"a status says that {condition} of the pod is {stated} {at_lines([status.line])}"
            yield fail(f"{sentence}; {containers} ready.", status.line)
