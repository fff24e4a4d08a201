"""What the status of a pod says while RestartAllContainers restarts it: the condition, the phase, and that it goes on.

Theory of operation. Statuses come late and merge, so each is held against itself: the container states in it say whether the
containers are being restarted, and the condition and the phase beside them have to agree.
"""

from collections.abc import Iterator

from crashloop.checks.checker import Holds, Need, Seen, checker
from crashloop.checks.finding import Finding, fail, inconclusive
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import RESTARTING_ALL, StatusReport
from crashloop.model.pod_status import FAILED, PENDING, RUNNING, SUCCEEDED
from crashloop.model.restart import Decision, decide
from crashloop.model.variants import RESTART_ALL_STAYS_RUNNING
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, ended_by_node
from crashloop.restarts.lives import leaves_ns
from crashloop.restarts.outages import may_lag_ns
from crashloop.restarts.restart import restarts
from crashloop.restarts.restart_all import RestartAllTrigger, resets_of, started_after
from crashloop.spec.pod import Container, ContainerKind
from crashloop.words import at_lines


@checker(
    "restart-all-condition",
    Need("resets", 1, "status", f"with {RESTARTING_ALL}", is_shown=False),
    about=lambda scenario: scenario.pod.restarts_all,
    watch="a condition",
)
def check_restart_all_condition(case: Case, seen: Seen) -> Iterator[Finding]:
    """AllContainersRestarting MUST be True while the exit that causes it is shown, and False once all containers are gone.

    Counted are the statuses that say True and have a later one that says False.
    """
    for pod in case.pods if case.restarts_all else ():
        said = [each.restarting_all for each in pod.statuses]
        seen["resets"] += sum(1 for number, each in enumerate(said) if each and False in said[number:])
        yield from _wrong_conditions(case, pod)
    seen.facts["resets_shown"] = seen["resets"]


@checker(
    "condition-without-rule",
    Need("statuses", 1, "pod status", is_shown=False),
    Need("restarts", 1, "restart", is_shown=False),
    once=True,
    holds=Holds.ANY_PROGRAM,
    about=lambda scenario: not scenario.pod.restarts_all,
)
def check_condition_without_rule(case: Case, seen: Seen) -> Iterator[Finding]:
    """A pod without a rule that restarts all containers MUST NOT have the condition AllContainersRestarting."""
    statuses = [each for pod in case.pods for each in pod.statuses]
    seen["statuses"] = seen.facts["statuses"] = len(statuses)
    seen["restarts"] = sum(each.next is not None for each in restarts(case))
    for status in statuses:
        if status.restarting_all is not None:
            sentence = f"a status says {RESTARTING_ALL} is {status.restarting_all} {at_lines([status.line])}"
            yield fail(f"{sentence}; no rule of the pod restarts all containers.", status.line)


@checker("restart-all-phase", Need("resets", 1, "status", f"with {RESTARTING_ALL}", is_shown=False), once=True)
def check_restart_all_phase(case: Case, seen: Seen) -> Iterator[Finding]:
    """A status that says AllContainersRestarting MUST say the phase Pending."""
    allowed = {PENDING, RUNNING} if RESTART_ALL_STAYS_RUNNING in case.prediction.deviations else {PENDING}
    restarting = [each for pod in case.pods for each in _before_deletion(case, pod) if each.restarting_all]
    seen["resets"] += len(restarting)
    seen.facts["phases"] = sorted({each.phase for each in restarting})
    for status in restarting:
        if status.phase not in allowed:
            sentence = f"a status says {RESTARTING_ALL} and the phase {status.phase} {at_lines([status.line])}"
            yield fail(f"{sentence}; the phase was to be {PENDING}.", status.line)


@checker(
    "restart-all-goes-on",
    Need("resets", 1, "reset"),
    about=lambda scenario: scenario.pod.restarts_all,
    watch="a phase",
    once=True,
)
def check_restart_all_goes_on(case: Case, seen: Seen) -> Iterator[Finding]:
    """A pod MUST NOT be said to have ended while RestartAllContainers is carried out, nor afterwards for an exit before it.

    Counted are the resets that were carried out, with a status received after each.
    """
    for pod in case.pods:
        resets = resets_of(case, pod)
        carried_out = [each for each in resets if started_after(pod, each, case.recording.end_ns) is not None]
        last_ns = max((each.t_ns for each in pod.statuses), default=0)
        seen["resets"] += sum(each.soonest_ns < last_ns for each in carried_out)
        if carried_out and ended_by_node(pod) is None:
            yield from _ended(case, pod, carried_out[-1])


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
            yield _stated_unasked(case, pod, status)
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
        reset = resets[-1]
        # A removal that nobody saw comes after the look that stated it.
        due_ns = reset.soonest_ns if reset.is_seen else max(reset.soonest_ns, last.t_ns)
        if due_ns + may_lag_ns(case, due_ns, case.recording.end_ns) < case.recording.end_ns:
            lines = (reset.exited.line, last.line)
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


def _stated_unasked(case: Case, pod: PodHistory, status: StatusReport) -> Finding:
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
