"""Checkers of when a probe is asked: after its initial delay, at every start, and again once runtime and kubelet are back.

Theory of operation. A startup probe is asked at every start, and before every other probe of the container:
pkg/kubelet/prober/worker.go@v1.37.1 doProbe begins anew with each container id, and the workers of liveness and readiness wait
until the container has started. Of an exec probe that nobody can carry out there is no answer, and none is not a failure.
"""

from collections.abc import Iterator

import msgspec

from crashloop.checks.checker import Life, Need, Seen, checker, lives
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.checks.probe_answers import answers_of
from crashloop.checks.readiness import is_carried_over
from crashloop.history.instances import Instance
from crashloop.history.recording import Done
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, is_journal_lost
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran, was_killed
from crashloop.spec.intervention import InterventionKind, down_s
from crashloop.spec.pod import Container, Handler, Probe, ProbeKind
from crashloop.words import at_lines, seconds

EARLY_NS = 1_100_000_000
"""The kubelet counts from a start in whole seconds, rounded down: pkg/kubelet/status/status_manager.go@v1.37.1."""


@checker("initial-delay", Need("lives", 1, "first question", "after an initial delay"))
def check_initial_delay(case: Case, seen: Seen) -> Iterator[Finding]:
    """A probe MUST NOT be asked in a life before its initial delay has passed."""
    for life in lives(case):
        for probe in (each for each in life.spec.probes if each.initial_delay_s):
            first, started = next(answers_of(life.instance, probe), None), life.instance.started
            if first is None or started is None or not started.utc_ns or not first.fact.utc_ns:
                continue
            seen["lives"] += 1
            since_ns = first.fact.utc_ns - started.utc_ns
            if since_ns < probe.initial_delay_s * 1_000_000_000 - EARLY_NS:
                lines = (started.line, first.fact.line)
                asked = f"was asked {seconds(since_ns / 1e9)} after its start {at_lines(lines)}"
                due = f"{seconds(probe.initial_delay_s)} were to pass"
                yield fail(f"the {probe.kind} probe of {life.name} {asked}; {due}.", *lines)


ASKED_WITHIN_S = 5.0
"""From a start to the first question, beyond a period of the probe: a relist, a sync and a start of a command."""


@checker("startup-again", Need("restarts", 1, "restart", "with an answer"))
def check_startup_again(case: Case, seen: Seen) -> Iterator[Finding]:
    """The startup probe of a container MUST be asked at every start, and no other of its probes before it has succeeded."""
    for life in lives(case):
        for probe in (each for each in life.spec.probes if each.kind is ProbeKind.STARTUP):
            seen["restarts"] += life.number > 0 and any(answers_of(life.instance, probe))
            yield from _startup_in(case, life, probe)


def _startup_in(case: Case, life: Life, probe: Probe) -> Iterator[Finding]:
    instance, answers = life.instance, tuple(answers_of(life.instance, probe))
    doubt = "Its journal may be lost" if is_journal_lost(case, life.pod) else _no_time_to_ask(case, probe, instance)
    if not answers and not (doubt and instance.exit is None):
        lines = instance.lines[:1]
        unasked = f"the startup probe was not asked in {life.name} {at_lines(lines)}"
        yield fail_unless(doubt, f"{unasked}; it was due at every start.", *lines)
    succeeded_ns = next((each.fact.utc_ns for each in answers if not each.failed), None)
    for other in (each for each in life.spec.probes if each.kind is not ProbeKind.STARTUP):
        first = next((each.fact for each in answers_of(instance, other)), None)
        if first is None or first.utc_ns is None:
            continue
        if is_carried_over(case, life.pod, life.spec, instance, probe, first.utc_ns):
            continue
        if succeeded_ns is None or first.utc_ns + first.resolution_ns < succeeded_ns:
            asked = f"the {other.kind} probe was asked in {life.name} {at_lines([first.line])}"
            yield fail(f"{asked} before its startup probe had succeeded.", first.line)


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
RESTARTED = {InterventionKind.RESTART_RUNTIME: "runtime", InterventionKind.RESTART_KUBELET: "kubelet"}


class _Away(msgspec.Struct, frozen=True):
    """The runtime of the node was away, or its kubelet."""

    who: str
    from_ns: int
    to_ns: int
    line: int

    @property
    def length_s(self) -> float:
        return (self.to_ns - self.from_ns) / 1e9


@checker("unanswered-probes", Need("missed", 5, "question", "that nobody could ask", is_shown=False))
def check_unanswered_probes(case: Case, seen: Seen) -> Iterator[Finding]:
    """A container MUST NOT be killed for exec probes that runtime or kubelet did not carry out, and MUST be probed after that."""
    away = [_time_away(each) for each in case.recording.interventions if each.ok and each.data.action in RESTARTED]
    seen.facts["away_s"] = [round(each.length_s, 3) for each in away]
    for spec in case.scenario.pod.containers:
        for probe in spec.probes:
            if probe.kind is ProbeKind.LIVENESS and probe.handler is Handler.EXEC:
                for each in away:
                    seen["missed"] += int(each.length_s / probe.period_s)
                    yield from _after_outage(case, spec, probe, each)


def _time_away(done: Done) -> _Away:
    down_ns = round(down_s(done.data.arguments) * 1e9)
    who = RESTARTED[InterventionKind(done.data.action)]
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
        if was_killed(case, spec.name, instances.index(lived), lived):
            lines = (away.line, lived.exit.line)
            after_s = (lived.exit_ns - away.from_ns) / 1e9
            yield fail(
                f'"{spec.name}" was ended {seconds(after_s)} after its {away.who} had gone {at_lines(lines)}; '
                f"its {probe.kind} probe had not failed, and what the {away.who} does not carry out is no failure.",
                *lines,
            )
    elif not any(away.to_ns <= (each.fact.utc_ns or 0) <= until_ns for each in answers_of(lived, probe)):
        yield fail_unless(
            _why_unasked(case, away.to_ns, until_ns),
            f'the {probe.kind} probe of "{spec.name}" was not asked within {seconds(ASKED_AGAIN_S)} of the return of its '
            f"{away.who} {at_lines([away.line])}.",
            away.line,
        )


def _why_unasked(case: Case, from_ns: int, until_ns: int) -> str | None:
    """What leaves open whether the probe was asked in that time; None if nothing does."""
    if case.recording.end_ns < until_ns:
        return "The recording ended before that"
    if is_journal_lost(case, case.pod):
        return "The journal that would show it is not complete"
    return excuse(case, (from_ns, until_ns), 0.0, ASKED_AGAIN_S)


def _lives_at(instance: Instance, t_ns: int) -> bool:
    start_ns, exit_ns = instance.start_ns, instance.exit_ns
    return start_ns is not None and start_ns <= t_ns and (exit_ns is None or exit_ns >= t_ns)
