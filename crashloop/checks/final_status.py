"""Checker of the last status of a pod that was deleted: it says how every container ended."""

from crashloop.checks.evidence import unwatched
from crashloop.checks.finding import Checked, Finding, fail_unless, inconclusive
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import ContainerReport, StatusReport
from crashloop.model.restart_all import shown_exit_code
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, leaves_ns, why_it_ended
from crashloop.restarts.lives import ran
from crashloop.restarts.restart_all import replacements
from crashloop.spec.pod import ContainerKind
from crashloop.words import at_lines


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
            if reported is not None and reported in (code, _after_reset(case, pod, spec.name, instances[-1])):
                shown[spec.name] = code
            else:
                findings.append(_other(case, pod, spec.name, instances, last, reported))
    if not findings:
        findings += unwatched(case, "the last status")
    return Checked(findings=tuple(findings), facts={"last_exit_codes": shown})


def _after_reset(case: Case, pod: PodHistory, container: str, instance: Instance) -> int | None:
    """What may stand for the last exit if RestartAllContainers removed that instance before the pod went."""
    is_removed = instance.ordinal in replacements(case, pod, container)
    return shown_exit_code(instance.exit_code, case.prediction.deviations) if is_removed else None


def _other(
    case: Case, pod: PodHistory, name: str, instances: tuple[Instance, ...], status: StatusReport, reported: int | None
) -> Finding:
    """A FAIL unless another instance may have followed the last one that was seen."""
    newest = instances[-1]
    lines = (*newest.lines[-1:], status.line)
    said = "no exit" if reported is None else f"exit code {reported}"
    sentence = (
        f'the last status of the deleted pod shows {said} of "{name}" {at_lines(lines)}; '
        f"it exited with {newest.exit_code}."
    )
    since_ns = (newest.exit.utc_ns or 0) if newest.exit else 0
    blind = blind_spot(case, pod, instances, since_ns, status.t_ns)
    return fail_unless(f'An instance of "{name}" could have gone unseen: {blind}' if blind else None, sentence, *lines)


def _reported(report: ContainerReport | None) -> int | None:
    """The exit code that a status shows: of a container that waits for its restart, as its last state."""
    if report is None or report.state.kind == "running":
        return None
    shown = report.state if report.state.kind == "terminated" else report.last_state
    return None if shown is None else shown.exit_code
