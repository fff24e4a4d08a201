"""Checkers of when a probe is asked, from its initial delay to the end of its pod.

Theory of operation. A startup probe is asked at every start, and before every other probe of the container:
pkg/kubelet/prober/worker.go@v1.37.1 doProbe begins anew with each container id, and the workers of liveness and readiness wait
until the container has started. Of an exec probe that nobody can carry out there is no answer, and none is not a failure.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from crashloop.checks.checker import Life, Need, Seen, checker, lives
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.checks.probe_periods import behind_s
from crashloop.checks.started import comes_with_its_kubelet, may_count_as_started
from crashloop.history.instances import Instance
from crashloop.history.recording import Done
from crashloop.history.stamps import Fact
from crashloop.model.after_restart import is_asked_at_the_end
from crashloop.restarts.answers import answers_of, starts_in_s
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, is_journal_lost, silent_end
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran, was_killed
from crashloop.restarts.outages import back_ns, ended_before_it_stated, kubelet_ended, met_ns, without_kubelet_ns
from crashloop.spec.intervention import InterventionKind, read_after_s
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
    """The startup probe of a container MUST be asked at every start until it succeeds, and no other of its probes before that."""
    for life in lives(case):
        for probe in (each for each in life.spec.probes if each.kind is ProbeKind.STARTUP):
            seen["restarts"] += life.number > 0 and any(answers_of(life.instance, probe))
            yield from _startup_in(case, life, probe)


def _startup_in(case: Case, life: Life, probe: Probe) -> Iterator[Finding]:
    instance, answers = life.instance, tuple(answers_of(life.instance, probe))
    doubt = "Its journal may be lost" if is_journal_lost(case, life.pod) else _no_time_to_ask(case, probe, instance)
    ended_ns = instance.exit_ns or case.recording.end_ns
    if not answers and comes_with_its_kubelet(case, life.pod, instance, probe, ended_ns):
        return
    if not answers and not (doubt and instance.exit is None):
        lines = instance.lines[:1]
        unasked = f"the startup probe was not asked in {life.name} {at_lines(lines)}"
        yield fail_unless(doubt, f"{unasked}; it was due at every start.", *lines)
    succeeded = next((each for each in answers if not each.failed), None)
    again = next((each for each in answers if succeeded and each.number > succeeded.number), None)
    if succeeded is not None and again is not None:
        lines = (succeeded.fact.line, again.fact.line)
        ended = ended_before_it_stated(case, succeeded.fact.utc_ns or 0, again.fact.utc_ns or 0)
        yield fail_unless(
            None if ended is None else f"The kubelet was ended before it could state that {at_lines([ended])}",
            f"the startup probe of {life.name} was asked again after it had succeeded {at_lines(lines)}.",
            *lines,
        )
    succeeded_ns = succeeded.fact.utc_ns if succeeded is not None else None
    for other in (each for each in life.spec.probes if each.kind is not ProbeKind.STARTUP):
        first = next((each.fact for each in answers_of(instance, other)), None)
        if first is None or first.utc_ns is None:
            continue
        if may_count_as_started(case, life.pod, life.spec, instance, probe, first.utc_ns):
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
    had_s = (ended_ns - begun_ns - without_kubelet_ns(case, begun_ns, ended_ns)) / 1e9
    due_s = probe.period_s + ASKED_WITHIN_S + starts_in_s(instance)
    if had_s <= due_s:
        return f"It had {seconds(had_s)} for that"
    return excuse(case, (begun_ns, ended_ns), 0.0, had_s - due_s)


@checker(
    "readiness-after-start",
    Need("starts", 1, "start", "with a readiness probe behind a startup probe"),
    about=lambda scenario: any(
        {ProbeKind.STARTUP, ProbeKind.READINESS} <= {each.kind for each in container.probes}
        for container in scenario.pod.containers
    ),
)
def check_readiness_after_start(case: Case, seen: Seen) -> Iterator[Finding]:
    """The readiness probe of a container MUST be asked within 5 s after its startup probe has succeeded, whatever its period.

    From then on it is asked once a period, and MUST NOT be asked more often.
    Added is what it was behind with the questions of the startup probe. Not judged within the first period after the kubelet
    met the pod: one that has started just now sleeps for a part of it (pkg/kubelet/prober/worker.go@v1.37.1 run).
    """
    for life in lives(case):
        by_kind = {each.kind: each for each in life.spec.probes}
        startup, readiness = by_kind.get(ProbeKind.STARTUP), by_kind.get(ProbeKind.READINESS)
        if startup is None or readiness is None or readiness.initial_delay_s:
            continue
        if case.restarts_all and life.number:
            continue  # X-5 is about what becomes of probes then
        answers = tuple(answers_of(life.instance, startup))
        started = next((each for each in answers if not each.failed), None)
        ended_ns = case.recording.end_ns if life.instance.exit is None else life.instance.exit_ns
        if started is None or not started.had_ns or ended_ns is None:
            continue
        if started.had_ns - met_ns(case, life.pod, started.had_ns) <= (readiness.period_s + 1) * 1e9:
            continue
        yield from _too_often(case, life, readiness)
        first = next((each.fact for each in answers_of(life.instance, readiness)), None)
        asked_ns = ended_ns if first is None or first.utc_ns is None else first.utc_ns
        seen["starts"] += first is not None
        late_s, most_s = (asked_ns - started.had_ns) / 1e9, ASKED_WITHIN_S + behind_s(startup, answers)
        if late_s > most_s:
            lines = (started.fact.line, *((first.line,) if first is not None else ()))
            sentence = (
                f"the readiness probe of {life.name} was not asked for {seconds(late_s)} after its startup probe had succeeded "
                f"{at_lines(lines)}; {seconds(most_s)} is the longest."
            )
            held = excuse(case, (started.had_ns, asked_ns), 0.0, late_s - most_s)
            doubt = "Its journal may lack answers" if is_journal_lost(case, life.pod) else held
            window_ns = started.had_ns, asked_ns
            unseen = silent_end(case, life.pod, life.spec, life.instance, window_ns) if first is None else None
            yield fail_unless(unseen or doubt, sentence, *lines)


SPARE_QUESTIONS = 3
"""Beyond one a period: at the success of the startup probe, and by a ticker that has waited for an answer."""


def _too_often(case: Case, life: Life, probe: Probe) -> Iterator[Finding]:
    """More questions of a ready container than its periods: each restart of the kubelet adds one, since its workers begin anew.

    One that is not ready is asked with each status as well; such a question may still wait when it becomes ready
    (pkg/kubelet/prober/prober_manager.go@v1.37.1 UpdatePodStatus).
    """
    asked = [each for each in answers_of(life.instance, probe) if each.fact.utc_ns is not None]
    ready = [
        (before, after)
        for before, after in pairwise(asked)
        if not before.failed and before.in_a_row >= probe.success_threshold
    ]
    spare = SPARE_QUESTIONS + len(list(kubelet_ended(case)))
    spare += sum(before.in_a_row == probe.success_threshold for before, _ in ready)
    took_s = sum(((after.fact.utc_ns or 0) - (before.fact.utc_ns or 0)) / 1e9 for before, after in ready)
    if len(ready) > spare + took_s / probe.period_s:
        lines = asked[0].fact.line, asked[-1].fact.line
        times = f"{len(ready)} times within {seconds(took_s)} in which it was ready {at_lines(lines)}"
        said = f"the {probe.kind} probe of {life.name} was asked {times}"
        yield fail(f"{said}; once every {seconds(probe.period_s)} was due.", *lines)


HEARD_WITHIN_S = 2.5
"""From the request to delete a pod to the last question of a probe that ends with that."""
MORE_WHERE_SLOW = 3
"""A question that takes longer than the period leaves it to chance whether another one comes before the worker ends: where its
ticker and its stop wait together, it takes either. pkg/kubelet/prober/worker.go@v1.37.1 run."""
SLOW_PROBE = "Its questions took longer than its period, so that some of them may have waited"
SILENT_PERIODS = 3
"""So many periods without a question are no chance."""


@checker(
    "probes-at-end",
    Need("asked", 2, "question", "of a readiness probe while its pod ended"),
    Need("silent", 1, "life", "with a probe that ended with its pod"),
)
def check_probes_at_end(case: Case, seen: Seen) -> Iterator[Finding]:
    """While a pod ends, readiness probes of what runs MUST go on, and liveness and startup probes MUST NOT.

    Judged up to the moment at which the journals were read, `read_after_s` after the request.
    """
    for done in case.recording.interventions:
        read_s = read_after_s(done.data.arguments)
        if not done.ok or not read_s or done.data.action != InterventionKind.DELETE_POD:
            continue
        for life in lives(case):
            instance, until_ns = life.instance, done.t_ns + round(read_s * 1e9)
            exit_ns = instance.exit_ns or case.recording.end_ns
            if life.pod is case.pods[-1] and (instance.start_ns or until_ns) < done.t_ns and exit_ns > until_ns:
                yield from _at_the_end(case, seen, life, done, until_ns)


def _is_slow(answers: Sequence[Fact], probe: Probe, from_ns: int, to_ns: int) -> bool:
    """Whether answers of that time, or the first before it, were more than two periods apart."""
    times_ns = [each.utc_ns or 0 for each in answers]
    pairs = ((earlier, later) for earlier, later in pairwise(times_ns) if later > from_ns and earlier < to_ns)
    return any(later - earlier > 2e9 * probe.period_s for earlier, later in pairs)


def _at_the_end(case: Case, seen: Seen, life: Life, done: Done, until_ns: int) -> Iterator[Finding]:
    """What was asked of one life from the request to delete its pod to the reading of its journal."""
    from_ns = done.t_ns + round(HEARD_WITHIN_S * 1e9)
    lost = "Its journal may lack answers" if is_journal_lost(case, life.pod) else None
    for probe in life.spec.probes:
        answers = [each.fact for each in answers_of(life.instance, probe)]
        asked = [each for each in answers if (each.utc_ns or 0) > from_ns]
        if probe.kind is ProbeKind.READINESS:
            seen["asked"] += len(asked)
            if not asked and until_ns - from_ns > SILENT_PERIODS * probe.period_s * 1e9:
                held = excuse(case, (from_ns, until_ns), 0.0, (until_ns - from_ns) / 1e9 - probe.period_s)
                unasked = f"the readiness probe of {life.name} was not asked again once its pod was being deleted"
                yield fail_unless(lost or held, f"{unasked} {at_lines([done.line])}; it ran on.", done.line)
            continue
        seen["silent"] += not asked
        if asked and not is_asked_at_the_end(life.spec, case.prediction.deviations):
            lines, last_ns = (done.line, asked[-1].line), asked[-1].utc_ns or 0
            late_s = (last_ns - done.t_ns) / 1e9
            went_on = f"the {probe.kind} probe of {life.name} was asked {seconds(late_s)} after the deletion of its pod"
            slow = len(asked) <= MORE_WHERE_SLOW and _is_slow(answers, probe, done.t_ns, last_ns)
            held = (slow and SLOW_PROBE) or excuse(case, (done.t_ns, last_ns), 0.0, late_s - HEARD_WITHIN_S)
            yield fail_unless(held, f"{went_on} {at_lines(lines)}; it was to end with that.", *lines)


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
    return _Away(RESTARTED[InterventionKind(done.data.action)], done.t_ns, back_ns(done), done.line)


def _after_outage(case: Case, spec: Container, probe: Probe, away: _Away) -> Iterator[Finding]:
    """A life that ended in or soon after that time, or one that was not asked again."""
    instances = ran(case.pod, spec.name)
    until_ns = away.to_ns + round(ASKED_AGAIN_S * 1e9)
    until_ns += round(case.recording.host.held(away.to_ns, until_ns).total_s * 1e9)  # while held up, nothing can ask
    blind = blind_spot(case, case.pod, instances, away.from_ns, until_ns)
    lived = next((each for each in instances if _lives_at(each, away.from_ns)), None)
    if lived is not None and lived.journal_started is None:
        blind = blind or "no journal shows what its probes were answered"
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
