"""Checkers of what a pod's status says while RestartAllContainers is carried out.

Theory of operation. Statuses come late and merge, so each is held against itself: the container states in it say whether the
containers are being restarted, and the condition and the phase beside them have to agree.
"""

from collections.abc import Iterator

from crashloop.checks.evidence import too_few, unwatched
from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import RESTARTING_ALL, StatusReport
from crashloop.model.phase import FAILED, PENDING, RUNNING, SUCCEEDED
from crashloop.model.restart import Decision, decide
from crashloop.model.variants import RESTART_ALL_STAYS_RUNNING
from crashloop.restarts.absences import may_lag_ns
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, ended_by_node, leaves_ns, why_it_ended
from crashloop.restarts.restart_all import RestartAllTrigger, resets_of, started_after
from crashloop.spec.pod import Container, ContainerKind
from crashloop.words import at_lines, count

MIN_RESETS = 1


def check_restart_all_condition(case: Case) -> Checked:
    """AllContainersRestarting MUST be True while the exit that causes it is shown, and False once all containers are gone.

    Needs min_resets (1) statuses that say True, each with a later one that says False.
    """
    findings: list[Finding] = []
    seen = 0
    for pod in case.pods if case.restarts_all else ():
        findings += _wrong_conditions(case, pod)
        seen += sum(_shown(pod))
    if not findings:
        findings += unwatched(case, "a condition")
    if not findings:
        findings += _rarely_shown(case, seen)
    return Checked(findings=tuple(findings), facts={"resets_shown": seen})


def check_condition_without_rule(case: Case) -> Checked:
    """A pod without a rule that restarts all containers MUST NOT have the condition AllContainersRestarting.

    Needs such a pod, and a status of it.
    """
    if case.restarts_all:
        return Checked(findings=(inconclusive("a rule of the pod restarts all containers; a pod without one needed."),))
    findings: list[Finding] = []
    statuses = [each for pod in case.pods for each in pod.statuses]
    for status in statuses:
        if status.restarting_all is not None:
            sentence = f"a status says {RESTARTING_ALL} is {status.restarting_all} {at_lines([status.line])}"
            findings.append(fail(f"{sentence}; no rule of the pod restarts all containers.", status.line))
    if not statuses:
        findings.append(inconclusive(f"no pod status was seen, one needed: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings[:1]), facts={"statuses": len(statuses)})


def check_restart_all_phase(case: Case) -> Checked:
    """A status that says AllContainersRestarting MUST say the phase Pending. Needs min_resets (1) such statuses."""
    findings: list[Finding] = []
    allowed = {PENDING, RUNNING} if RESTART_ALL_STAYS_RUNNING in case.prediction.deviations else {PENDING}
    restarting = [each for pod in case.pods for each in _before_deletion(case, pod) if each.restarting_all]
    for status in restarting:
        if status.phase not in allowed:
            sentence = f"a status says {RESTARTING_ALL} and the phase {status.phase} {at_lines([status.line])}"
            findings.append(fail(f"{sentence}; the phase was to be {PENDING}.", status.line))
    if not findings:
        findings += _rarely_shown(case, len(restarting))
    return Checked(findings=tuple(findings[:1]), facts={"phases": sorted({each.phase for each in restarting})})


def check_restart_all_goes_on(case: Case) -> Checked:
    """A pod MUST NOT be said to have ended while RestartAllContainers is carried out, nor afterwards for an exit before it.

    Needs min_resets (1) resets that were carried out, with a status received after each.
    """
    findings: list[Finding] = []
    seen = 0
    for pod in case.pods:
        resets = resets_of(case, pod)
        carried_out = [each for each in resets if started_after(pod, each, case.recording.end_ns) is not None]
        last_ns = max((each.t_ns for each in pod.statuses), default=0)
        seen += sum(each.soonest_ns < last_ns for each in carried_out)
        if carried_out and ended_by_node(pod) is None:
            findings += _ended(case, pod, carried_out[-1])
    if not findings:
        findings += unwatched(case, "a phase")
    if not findings:
        findings += too_few(case, seen, "min_resets", MIN_RESETS, "reset")
    return Checked(findings=tuple(findings[:1]), facts={"resets": seen})


def _ended(case: Case, pod: PodHistory, last: RestartAllTrigger) -> Iterator[Finding]:
    """Statuses by which the pod ended though its containers were started once more."""
    goes_on = case.prediction.phase not in (SUCCEEDED, FAILED)
    for status in _before_deletion(case, pod):
        if status.phase in (SUCCEEDED, FAILED) and (goes_on or status.t_ns <= last.soonest_ns):
            lines = (last.exited.line, status.line)
            sentence = f"the pod's phase was said to be {status.phase} {at_lines(lines)}"
            yield fail(f"{sentence}; {last.decided.step}, so that the pod was to go on.", *lines)


def _before_deletion(case: Case, pod: PodHistory) -> tuple[StatusReport, ...]:
    """The statuses until the scenario deletes the pod: from then on its containers end for good, whatever their rules."""
    leaves = leaves_ns(case, pod)
    return pod.statuses if leaves is None else tuple(each for each in pod.statuses if each.t_ns < leaves)


def _rarely_shown(case: Case, seen: int) -> Iterator[Finding]:
    least = int(case.number("min_resets", MIN_RESETS))
    if seen < least:
        yield inconclusive(f"{RESTARTING_ALL} was seen {count(seen, 'time')}, {least} needed: {why_it_ended(case)}.")


def _shown(pod: PodHistory) -> Iterator[bool]:
    """One per status that says True before one that says False."""
    said = [each.restarting_all for each in pod.statuses]
    return (True for number, each in enumerate(said) if each and False in said[number:])


def _wrong_conditions(case: Case, pod: PodHistory) -> Iterator[Finding]:
    """The first status whose condition is not the one of its own container states; then a condition that stays True."""
    resets = resets_of(case, pod)
    statuses = _before_deletion(case, pod)
    for status in statuses:
        source = next((each for each in case.scenario.pod.containers if _asks(case, status, each)), None)
        if source is not None and not status.restarting_all:
            code = status.containers[source.name].state.exit_code
            seen = "False" if status.restarting_all is False else "missing"
            yield fail(
                f'a status shows that "{source.name}" exited with {code} and {RESTARTING_ALL} is {seen} '
                f"{at_lines([status.line])}; it was to be True.",
                status.line,
            )
            return
        asked = [each for each in resets if each.t_ns <= status.t_ns]
        if status.restarting_all and not asked:
            yield _unasked(case, pod, status)
            return
        again = _running_again(case, pod, status, asked[-1]) if status.restarting_all else None
        if again is not None:
            lines = (*again.lines[:1], status.line)
            yield fail(
                f"a status says {RESTARTING_ALL} and shows a container that it had started again {at_lines(lines)}; "
                "it was to be False.",
                *lines,
            )
            return
    last = statuses[-1] if statuses and leaves_ns(case, pod) is None else None
    if last is not None and last.restarting_all and resets:
        due_ns = resets[-1].soonest_ns
        if due_ns + may_lag_ns(case, due_ns, case.recording.end_ns) < case.recording.end_ns:
            lines = (resets[-1].exited.line, last.line)
            yield fail(f"the last status says {RESTARTING_ALL} {at_lines(lines)}; it was to be False again.", *lines)


def _running_again(case: Case, pod: PodHistory, status: StatusReport, reset: RestartAllTrigger) -> Instance | None:
    """An instance that a status shows as running, and that began after the reset was carried out."""
    shown = {each.container_id for each in status.containers.values() if each.state.kind == "running"}
    for spec in case.scenario.pod.containers:
        for each in pod.instances(spec.name) if spec.kind is not ContainerKind.EPHEMERAL else ():
            begun_ns = (each.created.utc_ns or 0) if each.created else 0
            if each.container_id in shown and begun_ns > reset.soonest_ns and reset.is_seen:
                return each
    return None


def _unasked(case: Case, pod: PodHistory, status: StatusReport) -> Finding:
    sentence = f"a status says {RESTARTING_ALL} {at_lines([status.line])} before any exit that asks for it"
    for spec in case.scenario.pod.containers:
        blind = blind_spot(case, pod, pod.instances(spec.name), case.recording.begin_ns, status.t_ns)
        if blind is not None:
            return inconclusive(f'{sentence}; one of "{spec.name}" could have gone unseen: {blind}.', status.line)
    return fail(f"{sentence}; it was to be False.", status.line)


def _asks(case: Case, status: StatusReport, spec: Container) -> bool:
    """Whether a status of a pod that goes on shows the container's exit as one that causes RestartAllContainers."""
    report = status.containers.get(spec.name)
    if (
        status.phase in (SUCCEEDED, FAILED)
        or report is None
        or report.state.kind != "terminated"
        or report.state.exit_code is None
    ):
        return False
    kubelet = case.in_force_at(status.t_ns)
    decided = decide(case.scenario.pod, spec, report.state.exit_code, gates=kubelet.gates, version=kubelet.version)
    return decided.decision is Decision.RESTART_ALL
