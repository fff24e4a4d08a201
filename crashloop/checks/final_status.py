"""Checker of the last status of a pod that was deleted: it says how every container ended."""

from crashloop.checks.case import Case
from crashloop.checks.evidence import leaves_ns, unwatched, why_it_ended
from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.checks.restart_all_triggers import ran
from crashloop.checks.text import at_lines
from crashloop.history.statuses import ContainerReport
from crashloop.spec.scenario import ContainerKind


def check_final_status(case: Case) -> Checked:
    """The last status of a deleted pod MUST show the exit code of every container's last instance.

    Needs a deletion that the watch saw, and the exit of each container.
    """
    findings: list[Finding] = []
    shown: dict[str, int] = {}
    deleted = [pod for pod in case.pods if leaves_ns(case, pod) is not None and pod.deleted is not None]
    if not deleted:
        findings.append(inconclusive(f"no pod was seen to be deleted, one needed: {why_it_ended(case)}."))
    for pod in deleted:
        last = pod.statuses[-1] if pod.statuses else None
        for spec in case.scenario.pod.containers:
            if spec.kind is ContainerKind.EPHEMERAL:
                continue
            instances = ran(pod, spec.name)
            code = instances[-1].exit_code if instances else None
            if last is None or code is None:
                findings.append(inconclusive(f'the last exit of "{spec.name}" was not seen: {why_it_ended(case)}.'))
                continue
            reported = _reported(last.containers.get(spec.name))
            lines = (*instances[-1].lines[-1:], last.line)
            if reported != code:
                said = "no exit" if reported is None else f"exit code {reported}"
                sentence = f'the last status of the deleted pod shows {said} of "{spec.name}" {at_lines(lines)}; '
                findings.append(fail(f"{sentence}it exited with {code}.", *lines))
            else:
                shown[spec.name] = code
    if not findings:
        findings += unwatched(case, "the last status")
    return Checked(findings=tuple(findings), facts={"last_exit_codes": shown})


def _reported(report: ContainerReport | None) -> int | None:
    """The exit code that a status shows: of a container that waits for its restart, as its last state."""
    if report is None or report.state.kind == "running":
        return None
    shown = report.state if report.state.kind == "terminated" else report.last_state
    return None if shown is None else shown.exit_code
