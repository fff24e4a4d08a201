"""Checker of `started` in the container status: only what runs has started, and only once its startup probe has succeeded."""

from collections.abc import Iterator

from crashloop.checks.evidence import too_few, unwatched
from crashloop.checks.finding import Checked, Finding, fail, fail_unless
from crashloop.checks.probe_answers import answers_of, has_succeeded
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import StatusReport
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import is_journal_lost
from crashloop.restarts.lives import ran
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.probe import Probe, ProbeKind
from crashloop.words import at_lines


def check_started_truth(case: Case) -> Checked:
    """`started` MUST be true only of a container that runs, after a success of its startup probe; without one while it runs.

    Needs min_statuses (1) statuses of a running container; what is said of one that waits is judged where a status shows it.
    """
    findings: list[Finding] = []
    running = ended = 0
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            # Nobody promises what is said of ephemeral containers, nor while a hook runs.
            if spec.kind is ContainerKind.EPHEMERAL or spec.post_start:
                continue
            for status in pod.statuses:
                report = status.containers.get(spec.name)
                if report is None:
                    continue
                running += report.state.kind == "running"
                ended += report.state.kind != "running" and bool(report.container_id)
                findings += _wrong(case, pod, spec, status)
    if not findings:
        findings += unwatched(case, "a status")
        findings += too_few(case, running, "min_statuses", 1, "statement", "about a running container")
    return Checked(findings=tuple(findings[:1]), facts={"running": running, "ended": ended})


def _wrong(case: Case, pod: PodHistory, spec: Container, status: StatusReport) -> Iterator[Finding]:
    report = status.containers[spec.name]
    probe = next((each for each in spec.probes if each.kind is ProbeKind.STARTUP), None)
    said = f'a status says that "{spec.name}" has {"" if report.started else "not "}started {at_lines([status.line])}'
    if report.started and report.state.kind != "running":
        yield fail(f"{said}; by its state it is {report.state.kind}.", status.line)
    elif report.started and probe is not None:
        yield from _too_early(case, pod, spec, probe, status)
    elif not report.started and report.state.kind == "running" and probe is None:
        yield fail(f"{said}; it runs and has no startup probe.", status.line)


def _too_early(case: Case, pod: PodHistory, spec: Container, probe: Probe, status: StatusReport) -> Iterator[Finding]:
    """Started before a success of the startup probe in the life that the status shows."""
    shown = status.containers[spec.name].container_id
    for instance in ran(pod, spec.name):
        if instance.container_id != shown or has_succeeded(answers_of(instance, probe), 1, status.t_ns):
            continue
        lines = (*instance.lines[:1], status.line)
        sentence = (
            f'a status says that instance {instance.ordinal} of "{spec.name}" has started {at_lines(lines)}; '
            "its startup probe had not succeeded once."
        )
        lost = instance.journal_started is None or is_journal_lost(case, pod)
        yield fail_unless("Its journal may lack answers" if lost else None, sentence, *lines)
