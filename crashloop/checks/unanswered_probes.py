"""Checker of exec probes while the container runtime or the kubelet is away: no answer is not a failure, and questions go on."""

from collections.abc import Iterator

import msgspec

from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.checks.probe_answers import answers_of
from crashloop.history.instances import Instance
from crashloop.history.recording import Done
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, is_journal_lost, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran, was_killed
from crashloop.spec.intervention import InterventionKind, down_s
from crashloop.spec.pod import Container
from crashloop.spec.probe import Handler, Probe, ProbeKind
from crashloop.words import at_lines, seconds

ASKED_AGAIN_S = 15.0
"""A kubelet whose connection was refused tries again after no more than that: gRPC's backoff, and a period of the probe."""


WHO = {InterventionKind.RESTART_RUNTIME: "runtime", InterventionKind.RESTART_KUBELET: "kubelet"}


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
    away = [_away(each) for each in case.recording.interventions if each.ok and each.data.action in WHO]
    findings: list[Finding] = []
    missed = 0
    for spec in case.scenario.pod.containers:
        for probe in [each for each in spec.probes if each.kind is ProbeKind.LIVENESS and each.handler is Handler.EXEC]:
            findings += [finding for each in away for finding in _judged(case, spec, probe, each)]
            missed += sum(int(each.length_s / probe.period_s) for each in away)
    needed = int(case.number("min_missed", 5))
    if not findings and missed < needed:
        findings.append(
            inconclusive(f"{missed} probes were due that nobody could ask, {needed} needed: {why_it_ended(case)}.")
        )
    return Checked(findings=tuple(findings), facts={"away_s": [round(each.length_s, 3) for each in away]})


def _away(done: Done) -> _Away:
    down_ns = round(down_s(done.data.arguments) * 1e9)
    who = WHO[InterventionKind(done.data.action)]
    return _Away(who, done.t_ns, max(done.data.ended_ns or done.t_ns, done.t_ns + down_ns), done.line)


def _judged(case: Case, spec: Container, probe: Probe, away: _Away) -> Iterator[Finding]:
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
