"""Checker of `ready` in the container status against what the readiness probe was answered.

Theory of operation. A container with a readiness probe is ready from a success on, until failures in a row reach the threshold. A
status may lag, so only a statement that stood for longer than that is wrong; but a container whose probe has never succeeded was
ready at no time, and no status says so before the kubelet has had the success. A status that comes late says by its condition
since when the containers are ready. Without that time, successes of the life before may have made it ready as well as its own.
"""

from collections.abc import Iterator
from itertools import zip_longest

import msgspec

from crashloop.checks.evidence import unwatched
from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.checks.probe_answers import ProbeAnswer, answers_of, has_succeeded, successes_left
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import StatusReport
from crashloop.model.planned_exit import successes_go_on
from crashloop.model.restart_all import probes_go_on
from crashloop.restarts.absences import SETTLED_NS, may_lag_ns
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import is_journal_lost, lost_watch, why_it_ended
from crashloop.restarts.lives import ran
from crashloop.restarts.restart_all import Replacement, replacements
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.probe import Probe, ProbeKind
from crashloop.words import at_lines, count, seconds

WITHIN_NS = 1_000_000_000
"""Within this time after a time in whole seconds is what it says."""


class _Life(msgspec.Struct, frozen=True, kw_only=True):
    """An instance, and what its readiness probe was answered."""

    instance: Instance
    answers: tuple[ProbeAnswer, ...]
    successes_before: int
    """In a row, when the life before was over."""
    made_room: Replacement | None
    """The RestartAllContainers that it followed."""


def check_ready_truth(case: Case) -> Checked:
    """A container MUST be said to be ready if and only if its readiness probe succeeds in this life, and only while it runs.

    Needs min_statuses (1) statuses of a running container with such a probe, min_resets (0) of them after a RestartAllContainers,
    and of min_later (0) lives after a life whose probe succeeded a status that says since when they are ready.
    """
    findings: list[Finding] = []
    seen = after_reset = 0
    later: set[tuple[str, int]] = set()
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            probe = next((each for each in spec.probes if each.kind is ProbeKind.READINESS), None)
            for status, newer, life in _reported(case, pod, spec, probe) if probe else ():
                assert probe is not None
                seen += 1
                after_reset += life.made_room is not None
                if life.successes_before and _ready_since_ns(life.instance, status) is not None:
                    later.add((spec.name, life.instance.ordinal))
                if life.made_room is None or probes_go_on(case.prediction.deviations):
                    findings += _wrong(case, pod, spec, probe, life, status, newer)
            findings += [each for status in pod.statuses for each in ready_without_running(status, spec)]
    if not findings:
        findings += unwatched(case, "a status")
    for number, name, default, what in (
        (seen, "min_statuses", 1, "statuses"),
        (after_reset, "min_resets", 0, "statuses after a reset"),
        (len(later), "min_later", 0, "ready lives after a success"),
    ):
        least = int(case.number(name, default))
        if not findings and number < least:
            findings.append(inconclusive(f"{number} {what} seen, {least} needed: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings[:1]), facts={"statuses": seen})


def ready_without_running(status: StatusReport, spec: Container) -> Iterator[Finding]:
    """That a status contradicts itself. Init containers are ready once they are done."""
    if spec.kind is ContainerKind.INIT and not spec.is_sidecar:
        return
    report = status.containers.get(spec.name)
    if report is not None and report.ready and report.state.kind != "running":
        said = f'a status says that "{spec.name}" is ready {at_lines([status.line])}'
        yield fail(f"{said}; by its state it is {report.state.kind}.", status.line)


def _reported(
    case: Case, pod: PodHistory, spec: Container, probe: Probe
) -> Iterator[tuple[StatusReport, StatusReport | None, _Life]]:
    """Each status of a running instance, the next status, and the life of that instance."""
    by_id = {each.instance.container_id: each for each in _lives(case, pod, spec, probe)}
    for status, newer in zip_longest(pod.statuses, pod.statuses[1:]):
        report = status.containers.get(spec.name)
        known = by_id.get(report.container_id) if report and report.container_id else None
        if report is not None and known is not None and report.state.kind == "running":
            yield status, newer, known


def _lives(case: Case, pod: PodHistory, spec: Container, probe: Probe) -> Iterator[_Life]:
    replaced = replacements(case, pod, spec.name)
    go_on = successes_go_on(case.prediction.deviations)
    successes, made_room = 0, None
    for each in ran(pod, spec.name):
        answers = tuple(answers_of(each, probe, successes=successes if go_on else 0))
        yield _Life(instance=each, answers=answers, successes_before=successes, made_room=made_room)
        successes, made_room = successes_left(each, probe, successes=successes), replaced.get(each.ordinal)


def _wrong(
    case: Case,
    pod: PodHistory,
    spec: Container,
    probe: Probe,
    life: _Life,
    status: StatusReport,
    newer: StatusReport | None,
) -> Iterator[Finding]:
    instance, answers = life.instance, life.answers
    says = status.containers[spec.name].ready
    lost = instance.journal_started is None or is_journal_lost(case, pod)
    since_ns = _ready_since_ns(instance, status)
    said_ns = status.t_ns if since_ns is None else min(status.t_ns, since_ns + WITHIN_NS)
    if says and not has_succeeded(answers, probe.success_threshold, said_ns):
        lines = (*instance.lines[:1], status.line)
        given = sum(each.had_ns <= said_ns for each in answers)
        times = "once" if probe.success_threshold == 1 else f"{probe.success_threshold} times in a row"
        sentence = (
            f'a status says that "{spec.name}" is ready {at_lines(lines)}; its readiness probe had not succeeded {times} '
            f"in {count(given, 'answer')}."
        )
        yield fail_unless("Its journal may lack answers" if lost else None, sentence, *lines)
    elif not lost:
        until_ns = newer.t_ns if newer else case.recording.end_ns
        if instance.exit_ns is not None:
            until_ns = min(until_ns, instance.exit_ns)
        since = _since(answers, probe, ready=not says, until_ns=until_ns)
        if since is not None and until_ns - max(since.had_ns, status.t_ns) > SETTLED_NS:
            yield _outdated(case, spec.name, since, status, until_ns, says=says)


def _ready_since_ns(instance: Instance, status: StatusReport) -> int | None:
    """Since when the pod has been ready in this life, to the second below; None: it is not, or did not say."""
    since_ns, begun_ns = status.ready_since_ns, instance.begun_ns
    in_this_life = since_ns is not None and begun_ns is not None and since_ns >= begun_ns
    return since_ns if in_this_life and status.containers_ready else None


def _outdated(case: Case, name: str, since: ProbeAnswer, status: StatusReport, until_ns: int, *, says: bool) -> Finding:
    """A statement that stood for too long after an answer."""
    lines = (since.fact.line, status.line)
    was, answered = ("ready", "failed") if says else ("not ready", "succeeded")
    sentence = (
        f'"{name}" was said to be {was} until {seconds((until_ns - since.had_ns) / 1e9)} after its readiness probe '
        f"had {answered} {at_lines(lines)}."
    )
    lagging = until_ns - max(since.had_ns, status.t_ns) <= may_lag_ns(case, since.had_ns, until_ns)
    held_up = lagging or lost_watch(case, since.had_ns, until_ns) is not None
    doubt = "The host, the API server or the watch may have held a status up" if held_up else None
    return fail_unless(doubt, sentence, *lines)


def _since(answers: tuple[ProbeAnswer, ...], probe: Probe, *, ready: bool, until_ns: int) -> ProbeAnswer | None:
    """The answer that made it ready, or not ready, until that time; None if it was not so then."""
    found, is_ready = None, False
    for each in answers:
        if each.had_ns > until_ns:
            break
        threshold = probe.failure_threshold if is_ready else probe.success_threshold
        now = is_ready if each.in_a_row < threshold else not each.failed
        if now is not is_ready:
            found, is_ready = each, now
    return found if is_ready is ready else None
