"""Checker of the last phase of a pod that was deleted: it says whether the pod succeeded or failed."""

from crashloop.checks.evidence import unwatched
from crashloop.checks.finding import Checked, Finding, fail_unless, inconclusive
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.model.phase import ended
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, ended_by_node, leaves_ns, why_it_ended
from crashloop.restarts.lives import ran
from crashloop.restarts.restart_all import replacements
from crashloop.spec.pod import ContainerKind
from crashloop.words import at_lines


def check_final_phase(case: Case) -> Checked:
    """The last phase of a deleted pod MUST be Succeeded if its regular containers all exited with 0, and Failed otherwise.

    Needs a deletion that the watch saw, and the exit of each regular container.
    """
    findings: list[Finding] = []
    phases: list[str] = []
    for pod in case.pods:
        if leaves_ns(case, pod) is None or pod.deleted is None or not pod.statuses:
            continue
        phases.append(pod.statuses[-1].phase)
        findings += _judged(case, pod)
    if not phases:
        findings.append(inconclusive(f"no pod was seen to be deleted, one needed: {why_it_ended(case)}."))
    if not findings:
        findings += unwatched(case, "the last phase")
    return Checked(findings=tuple(findings), facts={"last_phases": phases})


def _judged(case: Case, pod: PodHistory) -> list[Finding]:
    regulars = case.scenario.pod.of_kind(ContainerKind.REGULAR)
    instances = {each.name: ran(pod, each.name) for each in regulars}
    codes = {name: lives[-1].exit_code if lives else None for name, lives in instances.items()}
    if ended_by_node(pod) is not None or any(
        lives and lives[-1].ordinal in replacements(case, pod, name) for name, lives in instances.items()
    ):
        return [inconclusive("the node ended the pod, or RestartAllContainers removed a container before it went.")]
    if unseen := [name for name, code in codes.items() if code is None]:
        return [inconclusive(f'the last exit of "{unseen[0]}" was not seen: {why_it_ended(case)}.')]
    last, due = pod.statuses[-1], ended(codes.values())
    if last.phase == due:
        return []
    exits = ", ".join(f'"{name}" exited with {code}' for name, code in codes.items())
    sentence = f"the last phase of the deleted pod was {last.phase} {at_lines([last.line])}; {due} was due: {exits}."
    blind = next((each for name in codes if (each := _blind(case, pod, instances[name], last.t_ns))), None)
    return [fail_unless(f"An instance could have gone unseen: {blind}" if blind else None, sentence, last.line)]


def _blind(case: Case, pod: PodHistory, instances: tuple[Instance, ...], until_ns: int) -> str | None:
    return blind_spot(case, pod, instances, instances[-1].exit_ns or 0, until_ns)
