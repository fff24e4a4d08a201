"""Checker of the order of starts: one instance at a time, and regular containers only after init."""

from itertools import pairwise

from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import why_it_ended
from crashloop.restarts.lives import ran
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container, ContainerKind
from crashloop.words import at_lines


def check_starts_once(case: Case) -> Checked:
    """An instance MUST NOT start before the one before it has exited, nor a regular container before init is done.

    A container whose program never exits MUST start exactly once. Needs one start of each container.
    """
    findings: list[Finding] = []
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            instances = ran(pod, spec.name)
            findings += _overlapping(spec.name, instances)
            if not instances:
                findings.append(inconclusive(f'"{spec.name}" was never seen to start: {why_it_ended(case)}.'))
            elif spec.program.known and not spec.program.exits and not _is_killed(case, spec) and len(instances) > 1:
                lines = instances[1].lines[:1]
                findings.append(
                    fail(f'"{spec.name}" was started again {at_lines(lines)}; it was to start once.', *lines)
                )
        findings += _before_init(case, pod)
    starts = {spec.name: len(ran(case.pod, spec.name)) for spec in case.scenario.pod.containers}
    return Checked(findings=tuple(findings), facts={"starts": starts})


def _is_killed(case: Case, spec: Container) -> bool:
    """Whether something of the scenario ends a container whose program holds."""
    ends = {InterventionKind.KILL_SANDBOX, InterventionKind.REMOVE_CONTAINER}
    is_ended = any(each.action in ends for each in case.scenario.interventions)
    return bool(spec.killing_probes) or case.restarts_all or is_ended or case.is_changed(spec.name)


def _overlapping(container: str, instances: tuple[Instance, ...]) -> list[Finding]:
    found = []
    for before, after in pairwise(instances):
        start, ended = after.start, before.exit
        if start is None:
            continue
        if ended is None:
            lines = (*before.lines[:1], start.line)
            sentence = f'"{container}" was started {at_lines(lines)} while the instance before it had not exited.'
            found.append(
                fail(sentence, *lines) if before.exited is None and after.started else inconclusive(sentence, *lines)
            )
        elif start.utc_ns is not None and ended.utc_ns is not None and start.utc_ns < ended.utc_ns:
            lines = (start.line, ended.line)
            found.append(
                fail(f'"{container}" was started {at_lines(lines)} before the instance before it had exited.', *lines)
            )
    return found


def _before_init(case: Case, pod: PodHistory) -> list[Finding]:
    """Regular containers that started before every regular init container had exited 0."""
    inits = [each for each in case.scenario.pod.of_kind(ContainerKind.INIT) if not each.is_sidecar]
    done_ns, done_line = 0, 0
    for init in inits:
        successes = [each.exit for each in ran(pod, init.name) if each.exit_code == 0 and each.exit]
        if not successes or successes[0].utc_ns is None:
            done_ns, done_line = case.recording.end_ns, 0
            break
        if successes[0].utc_ns > done_ns:
            done_ns, done_line = successes[0].utc_ns, successes[0].line
    found = []
    for spec in case.scenario.pod.of_kind(ContainerKind.REGULAR) if inits else ():
        for each in ran(pod, spec.name)[:1]:
            if each.start and each.start_ns is not None and each.start_ns < done_ns:
                lines = tuple(line for line in (each.start.line, done_line) if line)
                found.append(
                    fail(f'"{spec.name}" was started {at_lines(lines)} before the init containers were done.', *lines)
                )
    return found
