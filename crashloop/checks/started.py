"""Checkers of what counts as started: it runs, and its startup probe has succeeded.

Known is that an instance may count as started for another reason, until its own startup probe is asked: that the one before it
had started and was killed, or that its kubelet has started since and has no worker of that probe
(pkg/kubelet/prober/prober_manager.go@v1.37.2 isContainerStarted; pkg/kubelet/kubelet.go SyncPod states before it adds them).
"""

from collections.abc import Iterator

from crashloop.checks.checker import Need, Seen, checker, statements
from crashloop.checks.finding import Finding, fail, fail_unless
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import ContainerReport, StatusReport
from crashloop.model.after_restart import counts_as_started, starts_with_its_kubelet
from crashloop.restarts.answers import answers_of, has_succeeded
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import is_journal_lost, lost_watch
from crashloop.restarts.lives import ran, was_being_ended
from crashloop.restarts.outages import may_be_old_ns, met_ns
from crashloop.spec.pod import Container, ContainerKind, Probe, ProbeKind
from crashloop.spec.program import KILLED
from crashloop.words import at_lines


@checker(
    "started-truth",
    Need("statuses", 1, "statement", "about a running container", is_shown=False),
    watch="a status",
    once=True,
)
def check_started_truth(case: Case, seen: Seen) -> Iterator[Finding]:
    """`started` MUST be true only of a container that runs, after a success of its startup probe; without one while it runs.

    One with a postStart hook or a startup probe may not have started while it runs, until it is ready: nothing is ready before
    that (kubernetes/kubernetes#92196). What is said of one that waits is judged where a status shows it.
    """
    ended = 0
    for pod, spec, status, report in statements(case):
        if spec.kind is ContainerKind.EPHEMERAL:
            continue  # nobody promises what is said of these
        runs, probe = report.state.kind == "running", spec.probe(ProbeKind.STARTUP)
        seen["statuses"] += runs
        ended += not runs and bool(report.container_id)
        stated = "has started" if report.started else "has not started"
        said = f'a status says that "{spec.name}" {stated} {at_lines([status.line])}'
        if report.started and not runs:
            yield fail(f"{said}; by its state it is {report.state.kind}.", status.line)
        elif report.started and probe is not None:
            yield from _started_early(case, pod, spec, probe, status)
        elif not report.started and runs and probe is None and not spec.post_start:
            yield fail(f"{said}; it runs and has no startup probe.", status.line)
        elif not report.started and report.ready and runs and not _may_have_been_taken_back(case, pod, spec, status):
            yield fail(f"{said}; it is said to be ready.", status.line)
    seen.facts |= {"running": seen["statuses"], "ended": ended}


def _may_have_been_taken_back(case: Case, pod: PodHistory, spec: Container, status: StatusReport) -> bool:
    """Whether an instance may have counted as started, and as ready since: the kubelet states the two one after the other.

    It ran before its kubelet started, which until 1.34 stated anew what it knew of it, or is known to have counted as started.
    """
    met = met_ns(case, pod, status.t_ns)
    for each in ran(pod, spec.name):
        if _is_shown(each, status.containers[spec.name]):
            probe = spec.probe(ProbeKind.STARTUP)
            carried_over = probe is not None and _counted_as_started(case, pod, spec, each, probe, status.t_ns)
            return carried_over or (each.begun_ns or met) < met
    return False


def _is_shown(instance: Instance, report: ContainerReport) -> bool:
    """Whether a status shows an instance: by its id, or by the restartCount where only the journal saw it, which has no ids."""
    if instance.container_id is None:
        return instance.ordinal == report.restart_count
    return instance.container_id == report.container_id


def may_count_as_started(
    case: Case, pod: PodHistory, spec: Container, instance: Instance, probe: Probe, t_ns: int
) -> bool:
    """Whether an instance is known to count as started by then, though its startup probe has not succeeded."""
    return _is_carried_over(case, pod, spec, instance, probe, t_ns) or comes_with_its_kubelet(
        case, pod, instance, probe, t_ns
    )


def comes_with_its_kubelet(case: Case, pod: PodHistory, instance: Instance, probe: Probe, t_ns: int) -> bool:
    """Whether an instance counts as started since its kubelet has started, which had not asked its startup probe by then."""
    began_ns = met_ns(case, pod, t_ns)
    if (instance.begun_ns or began_ns) >= began_ns or not starts_with_its_kubelet(case.prediction.deviations):
        return False
    answers_ns = (each.fact.utc_ns or 0 for each in answers_of(instance, probe))
    return _may_be_unasked(case, min((each for each in answers_ns if each > began_ns), default=t_ns), t_ns)


def _is_carried_over(case: Case, pod: PodHistory, spec: Container, instance: Instance, probe: Probe, t_ns: int) -> bool:
    """Whether an instance counts as started for the one before it, and was not asked by then itself."""
    asked_ns = min((each.fact.utc_ns or 0 for each in answers_of(instance, probe)), default=t_ns)
    return _counted_as_started(case, pod, spec, instance, probe, t_ns) and _may_be_unasked(case, asked_ns, t_ns)


def _counted_as_started(
    case: Case, pod: PodHistory, spec: Container, instance: Instance, probe: Probe, t_ns: int
) -> bool:
    """Whether an instance is known to begin as started, for the one before it, which was killed after a start."""
    number, before = next(
        (place for place in enumerate(ran(pod, spec.name)) if place[1].ordinal == instance.ordinal - 1), (0, None)
    )
    if before is None:
        return False
    ended_ns = before.exit_ns or t_ns
    had_started = has_succeeded(answers_of(before, probe), 1, ended_ns)
    had_started = had_started or comes_with_its_kubelet(case, pod, before, probe, ended_ns)
    was_killed = before.exit_code in (spec.exit_code_on_term, KILLED) or was_being_ended(case, spec, number, before)
    return counts_as_started(had_started, was_killed, case.prediction.deviations)


def _may_be_unasked(case: Case, asked_ns: int, t_ns: int) -> bool:
    """Whether a status of that time may have been made before the question."""
    return t_ns - may_be_old_ns(case, t_ns) <= asked_ns or lost_watch(case, asked_ns, t_ns) is not None


def _is_taken_back(pod: PodHistory, spec: Container, instance: Instance, status: StatusReport) -> bool:
    """Whether an earlier status says of the same instance that it has not started."""
    before = (each.containers.get(spec.name) for each in pod.statuses if each.t_ns < status.t_ns)
    return any(each is not None and each.container_id == instance.container_id and not each.started for each in before)


def _started_early(
    case: Case, pod: PodHistory, spec: Container, probe: Probe, status: StatusReport
) -> Iterator[Finding]:
    """Started before a success of the startup probe in the life that the status shows."""
    shown = status.containers[spec.name].container_id
    for instance in ran(pod, spec.name):
        if instance.container_id != shown or has_succeeded(answers_of(instance, probe), 1, status.t_ns):
            continue
        if comes_with_its_kubelet(case, pod, instance, probe, status.t_ns):
            continue
        if not _is_taken_back(pod, spec, instance, status) and _is_carried_over(
            case, pod, spec, instance, probe, status.t_ns
        ):
            continue
        lines = (*instance.lines[:1], status.line)
        sentence = (
            f'a status says that instance {instance.ordinal} of "{spec.name}" has started {at_lines(lines)}; '
            "its startup probe had not succeeded once."
        )
        lost = instance.journal_started is None or is_journal_lost(case, pod)
        yield fail_unless("Its journal may lack answers" if lost else None, sentence, *lines)
