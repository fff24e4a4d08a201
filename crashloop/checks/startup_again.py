"""Checker of startup probes: asked at every start, and before every other probe of the container.

pkg/kubelet/prober/worker.go@v1.37.1 doProbe: a worker begins anew with each container id, and those of liveness and readiness
wait until the container has started.
"""

from collections.abc import Iterator

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail, fail_unless
from crashloop.checks.probe_answers import answers_of
from crashloop.history.instances import Instance
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import is_journal_lost
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
from crashloop.spec.pod import Container
from crashloop.spec.probe import Probe, ProbeKind
from crashloop.words import at_lines, seconds

ASKED_WITHIN_S = 5.0
"""From a start to the first question, beyond a period of the probe: a relist, a sync and a start of a command."""
MIN_RESTARTS = 1


def check_startup_again(case: Case) -> Checked:
    """The startup probe of a container MUST be asked at every start, and no other of its probes before it has succeeded.

    Needs min_restarts (1) restarts with an answer, and lives that are long enough for one.
    """
    findings: list[Finding] = []
    restarts = 0
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            for probe in (each for each in spec.probes if each.kind is ProbeKind.STARTUP):
                instances = ran(pod, spec.name)
                lost = "Its journal may be lost" if is_journal_lost(case, pod) else None
                findings += [finding for each in instances for finding in _of_life(case, spec, probe, each, lost)]
                restarts += sum(any(answers_of(each, probe)) for each in instances[1:])
    if not findings:
        findings += too_few(case, restarts, "min_restarts", MIN_RESTARTS, "restart", "with an answer")
    return Checked(findings=tuple(findings), facts={"restarts": restarts})


def _of_life(case: Case, spec: Container, probe: Probe, instance: Instance, lost: str | None) -> Iterator[Finding]:
    name = f'instance {instance.ordinal} of "{spec.name}"'
    answers = tuple(answers_of(instance, probe))
    doubt = lost or _no_time(case, probe, instance)
    if not answers and not (doubt and instance.exit is None):
        sentence = (
            f"the startup probe was not asked in {name} {at_lines(instance.lines[:1])}; it was due at every start."
        )
        yield fail_unless(doubt, sentence, *instance.lines[:1])
    succeeded = next((each for each in answers if not each.failed), None)
    for other in (each for each in spec.probes if each.kind is not ProbeKind.STARTUP):
        first = next(answers_of(instance, other), None)
        if first is None or first.fact.utc_ns is None:
            continue
        before = None if succeeded is None else succeeded.fact.utc_ns
        if before is None or first.fact.utc_ns + first.fact.resolution_ns < before:
            line = first.fact.line
            yield fail(
                f"the {other.kind} probe was asked in {name} (history line {line}) before its startup probe had succeeded.",
                line,
            )


def _no_time(case: Case, probe: Probe, instance: Instance) -> str | None:
    """Why the kubelet may not have had the time to ask; None if it had."""
    begun_ns = instance.start_ns
    ended_ns = case.recording.end_ns if instance.exit is None else instance.exit_ns
    if begun_ns is None or ended_ns is None:
        return "No clock shows for how long it ran"
    had_s, due_s = (ended_ns - begun_ns) / 1e9, probe.period_s + ASKED_WITHIN_S
    if had_s <= due_s:
        return f"It had {seconds(had_s)} for that"
    return excuse(case, (begun_ns, ended_ns), 0.0, had_s - due_s)
