"""Checker of the reason that statuses state of an exit: whether the container ran out of memory."""

from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.history.recording import PodHistory
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import why_it_ended
from crashloop.restarts.lives import exited_by_itself, ran
from crashloop.spec.program import LifeEnd
from crashloop.words import at_lines, count

OUT_OF_MEMORY = "OOMKilled"
"""k8s.io/cri-api v1/api.proto@v0.37.1 ContainerStatus."""
MIN_EXITS = 1


def check_exit_reason(case: Case) -> Checked:
    """The last status that shows an exit MUST state OOMKilled if the kernel killed the container for its memory, and only then.

    Needs min_exits (1) exits for memory in a status.
    """
    findings: list[Finding] = []
    seen = 0
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            stated = _stated(pod, spec.name)
            for number, instance in enumerate(() if spec.program.first_pod_only else ran(pod, spec.name)):
                reason, line = stated.get(instance.container_id or "", ("", 0))
                if not reason or instance.life != number or not exited_by_itself(case, spec.name, number, instance):
                    continue
                life = spec.program.life(number)
                is_due = life is not None and life.end is LifeEnd.MEMORY
                seen += is_due
                if (reason == OUT_OF_MEMORY) is not is_due:
                    lines = (*instance.lines[-1:], line)
                    what = "ran" if is_due else "did not run"
                    said = f'a status states {reason} of instance {number} of "{spec.name}" {at_lines(lines)}'
                    findings.append(fail(f"{said}; it {what} out of memory.", *lines))
    least = int(case.number("min_exits", MIN_EXITS))
    if not findings and seen < least:
        sentence = f"{count(seen, 'exit')} for memory seen in a status, {least} needed: {why_it_ended(case)}."
        findings.append(inconclusive(sentence))
    return Checked(findings=tuple(findings), facts={"exits_for_memory": seen})


def _stated(pod: PodHistory, name: str) -> dict[str, tuple[str, int]]:
    """The last reason that was stated of each exited instance, and its line, by container id."""
    found: dict[str, tuple[str, int]] = {}
    for status in pod.statuses:
        report = status.containers.get(name)
        for state in (report.last_state, report.state) if report is not None else ():
            if state is not None and state.kind == "terminated" and state.container_id:
                found[state.container_id] = state.reason, status.line
    return found
