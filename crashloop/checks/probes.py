"""Checkers of when a probe is asked: after its initial delay, at every start, and again once runtime and kubelet are back.

Theory of operation. A startup probe is asked at every start, and before every other probe of the container:
pkg/kubelet/prober/worker.go@v1.37.1 doProbe begins anew with each container id, and the workers of liveness and readiness wait
until the container has started. Of an exec probe that nobody can carry out there is no answer, and none is not a failure.
"""

from collections.abc import Iterator

import msgspec

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.checks.probe_answers import answers_of
from crashloop.history.instances import Instance
from crashloop.history.recording import Done, PodHistory
from crashloop.history.stamps import Fact
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, is_journal_lost, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran, was_killed
from crashloop.spec.intervention import InterventionKind, down_s
from crashloop.spec.pod import Container
from crashloop.spec.probe import Handler, Probe, ProbeKind
from crashloop.words import at_lines, seconds

EARLY_NS = 1_100_000_000
"""The kubelet counts from a start in whole seconds, rounded down: pkg/kubelet/status/status_manager.go@v1.37.1."""
MIN_LIVES = 1


def check_initial_delay(case: Case) -> Checked:
    """A probe MUST NOT be asked in a life before its initial delay has passed.

    Needs min_lives (1) lives in which a probe with an initial delay was asked.
    """
    findings: list[Finding] = []
    lives = 0
    for pod in case.pods:
        for name, probe, instance, started, asked in _first_asked(case, pod):
            lives += 1
            since_ns = (asked.utc_ns or 0) - (started.utc_ns or 0)
            if since_ns < probe.initial_delay_s * 1_000_000_000 - EARLY_NS:
                lines = (started.line, asked.line)
                sentence = (
                    f'the {probe.kind} probe of instance {instance.ordinal} of "{name}" was asked '
                    f"{seconds(since_ns / 1e9)} after its start {at_lines(lines)}; "
                    f"{seconds(probe.initial_delay_s)} were to pass."
                )
                findings.append(fail(sentence, *lines))
    if not findings:
        findings += too_few(case, lives, "min_lives", MIN_LIVES, "first question", "after an initial delay")
    return Checked(findings=tuple(findings), facts={"lives": lives})


def _first_asked(case: Case, pod: PodHistory) -> Iterator[tuple[str, Probe, Instance, Fact, Fact]]:
    """The start of each life and the first answer in it, of every probe with an initial delay."""
    for spec in case.scenario.pod.containers:
        for probe in spec.probes:
            for instance in ran(pod, spec.name) if probe.initial_delay_s else ():
                first = next(answers_of(instance, probe), None)
                started = instance.started
                if first is not None and started is not None and started.utc_ns and first.fact.utc_ns:
                    yield spec.name, probe, instance, started, first.fact


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
                findings += [finding for each in instances for finding in _startup_in(case, spec, probe, each, lost)]
                restarts += sum(any(answers_of(each, probe)) for each in instances[1:])
    if not findings:
        findings += too_few(case, restarts, "min_restarts", MIN_RESTARTS, "restart", "with an answer")
    return Checked(findings=tuple(findings), facts={"restarts": restarts})


def _startup_in(case: Case, spec: Container, probe: Probe, instance: Instance, lost: str | None) -> Iterator[Finding]:
    name = f'instance {instance.ordinal} of "{spec.name}"'
    answers = tuple(answers_of(instance, probe))
    doubt = lost or _no_time_to_ask(case, probe, instance)
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


def _no_time_to_ask(case: Case, probe: Probe, instance: Instance) -> str | None:
    """Why the kubelet may not have had the time to ask; None if it had."""
    begun_ns = instance.start_ns
    ended_ns = case.recording.end_ns if instance.exit is None else instance.exit_ns
    if begun_ns is None or ended_ns is None:
        return "No clock shows for how long it ran"
    had_s, due_s = (ended_ns - begun_ns) / 1e9, probe.period_s + ASKED_WITHIN_S
    if had_s <= due_s:
        return f"It had {seconds(had_s)} for that"
    return excuse(case, (begun_ns, ended_ns), 0.0, had_s - due_s)


ASKED_AGAIN_S = 15.0
"""A kubelet whose connection was refused tries again after no more than that: gRPC's backoff, and a period of the probe."""


WHO_RESTARTS = {InterventionKind.RESTART_RUNTIME: "runtime", InterventionKind.RESTART_KUBELET: "kubelet"}


class _Away(msgspec.Struct, frozen=True):
    """The runtime of the node was away, or its kubelet."""

    who: str
    from_ns: int
    to_ns: int
    line: int

    @property
    def length_s(self) -> float:
        return (self.to_ns - self.from_ns) / 1e9


def check_unanswered_probes(case: Case) -> Checked:
    """A container MUST NOT be killed for exec probes that runtime or kubelet did not carry out, and MUST be probed after that.

    Needs min_missed (5) questions due while one of them was away.
    """
    away = [_time_away(each) for each in case.recording.interventions if each.ok and each.data.action in WHO_RESTARTS]
    findings: list[Finding] = []
    missed = 0
    for spec in case.scenario.pod.containers:
        for probe in [each for each in spec.probes if each.kind is ProbeKind.LIVENESS and each.handler is Handler.EXEC]:
            findings += [finding for each in away for finding in _after_outage(case, spec, probe, each)]
            missed += sum(int(each.length_s / probe.period_s) for each in away)
    needed = int(case.number("min_missed", 5))
    if not findings and missed < needed:
        findings.append(
            inconclusive(f"{missed} probes were due that nobody could ask, {needed} needed: {why_it_ended(case)}.")
        )
    return Checked(findings=tuple(findings), facts={"away_s": [round(each.length_s, 3) for each in away]})


def _time_away(done: Done) -> _Away:
    down_ns = round(down_s(done.data.arguments) * 1e9)
    who = WHO_RESTARTS[InterventionKind(done.data.action)]
    return _Away(who, done.t_ns, max(done.data.ended_ns or done.t_ns, done.t_ns + down_ns), done.line)


def _after_outage(case: Case, spec: Container, probe: Probe, away: _Away) -> Iterator[Finding]:
    """A life that ended in or soon after that time, or one that was not asked again."""
    instances = ran(case.pod, spec.name)
    until_ns = away.to_ns + round(ASKED_AGAIN_S * 1e9)
    blind = blind_spot(case, case.pod, instances, away.from_ns, until_ns)
    lived = next((each for each in instances if _lives_at(each, away.from_ns)), None)
    if lived is None or blind is not None:
        why = blind or f'"{spec.name}" did not run when the {away.who} went'
        yield inconclusive(f"An answer could have gone unseen: {why}.", away.line)
        return
    failed = any(each.failed for kind in spec.killing_probes for each in answers_of(lived, kind))
    if failed or case.restarts_all:
        return  # it may be killed for that
    if lived.exit is not None and lived.exit_ns is not None and lived.exit_ns <= until_ns:
        if not was_killed(case, spec.name, instances.index(lived), lived):
            return
        lines = (away.line, lived.exit.line)
        after_s = (lived.exit_ns - away.from_ns) / 1e9
        yield fail(
            f'"{spec.name}" was ended {seconds(after_s)} after its {away.who} had gone {at_lines(lines)}; '
            f"its {probe.kind} probe had not failed, and what the {away.who} does not carry out is no failure.",
            *lines,
        )
    elif not any(away.to_ns <= (each.fact.utc_ns or 0) <= until_ns for each in answers_of(lived, probe)):
        doubt = excuse(case, (away.to_ns, until_ns), 0.0, ASKED_AGAIN_S)
        if case.recording.end_ns < until_ns:
            doubt = "The recording ended before that"
        elif is_journal_lost(case, case.pod):
            doubt = "The journal that would show it is not complete"
        yield fail_unless(
            doubt,
            f'the {probe.kind} probe of "{spec.name}" was not asked within {seconds(ASKED_AGAIN_S)} of the return of its '
            f"{away.who} {at_lines([away.line])}.",
            away.line,
        )


def _lives_at(instance: Instance, t_ns: int) -> bool:
    start_ns, exit_ns = instance.start_ns, instance.exit_ns
    return start_ns is not None and start_ns <= t_ns and (exit_ns is None or exit_ns >= t_ns)
