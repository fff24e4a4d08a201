"""How often each probe is asked: once in each of its periods, from the first one of a life on.

Theory of operation. A worker of the kubelet asks, and waits for the answer: pkg/kubelet/prober/worker.go@v1.37.1 run. Its ticker
knows nothing of the starts of its container, so the first question comes within a period. One over HTTP may come before the
server does, which leaves no note. An answer takes a command's start in the container, which is none of the runtime's creates.
Stalls scatter questions, so a probe is asked too seldom where no two of them, in any life, follow each other within its period.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise

from crashloop.checks.checker import Life, Need, Seen, checker, lives
from crashloop.checks.finding import Finding, fail_unless
from crashloop.model.after_restart import starts_with_its_kubelet
from crashloop.restarts.answers import ProbeAnswer, answers_of, fatal, has_succeeded, starts_in_s
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import is_journal_lost, silent_end
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import leaves_ns
from crashloop.restarts.outages import kubelet_outages
from crashloop.spec.pod import FAILS, SUCCEEDS, Probe, ProbeKind
from crashloop.words import at_lines, seconds

SEVERAL, SELDOM = 4, 1.5
"""Questions that follow others, and periods between each two of them, that are no chance."""
FIRST_WITHIN_S = 2.0
"""From a start to the first question, beyond two periods: the kubelet sees the start, and a command starts."""
RESUMED_WITHIN_S = 8.0
"""From the start of a kubelet to its first look at a pod, beyond two periods: it lists pods and containers first."""
FOR_GOOD = 5
"""So many periods without a question are no chance, whatever the first one has to wait for."""


@checker(
    "probe-period",
    Need("lives", 1, "life", "of a probed container", is_shown=False),
    about=lambda scenario: any(each.probes and scenario.keeps(each.name) for each in scenario.pod.containers),
)
def check_probe_period(case: Case, seen: Seen) -> Iterator[Finding]:
    """A probe MUST be asked once in each period, in every life from the first period on that follows what it has to wait for.

    A kubelet that has restarted goes on with the probes of what runs. Not judged after RestartAllContainers, which loses probes
    (X-5), nor where anything else was done to the pod or its node.
    """
    for _, group in groupby(lives(case), key=lambda each: (each.pod.uid, each.spec.name)):
        of_one = [
            each
            for each in group
            if each.spec.probes and case.scenario.keeps(each.spec.name) and not (case.restarts_all and each.number)
        ]
        seen["lives"] += len(of_one)
        for probe in of_one[0].spec.probes if of_one else ():
            if case.scenario.is_disturbed:
                yield from (each for life in of_one for each in _not_resumed(case, life, probe))
                continue
            yield from _seldom(case, of_one, probe)
            for life in of_one:
                yield from _first_late(case, life, probe)


def _seldom(case: Case, of_one: list[Life], probe: Probe) -> Iterator[Finding]:
    """A container in whose lives no two questions of a probe followed each other within its period, and half of that."""
    answering_s = max(probe.answering_s(SUCCEEDS), probe.answering_s(FAILS))
    due_s = probe.period_s + (answering_s if answering_s >= probe.period_s else 0.0)  # a tick passes meanwhile
    pairs = [
        (life, before, after)
        for life in of_one
        for before, after in pairwise(each for each in answers_of(life.instance, probe) if each.had_ns)
    ]
    apart_s = [(after.had_ns - before.had_ns) / 1e9 for _, before, after in pairs]
    if len(pairs) < SEVERAL or min(apart_s) <= SELDOM * due_s:
        return
    lines = pairs[0][1].fact.line, pairs[-1][2].fact.line
    sentence = (
        f'the {probe.kind} probe of "{pairs[0][0].spec.name}" was asked every {seconds(min(apart_s))} at most {at_lines(lines)}; '
        f"every {seconds(due_s)} was due."
    )
    took_s = max(starts_in_s(life.instance) for life, *_ in pairs)
    if min(apart_s) <= SELDOM * (answering_s + took_s):
        doubt: str | None = f"Its program took {seconds(took_s)} to start, and an answer may take as long"
    else:
        window_ns, late_s = (pairs[0][1].had_ns, pairs[-1][2].had_ns), sum(apart_s) - SELDOM * due_s * len(apart_s)
        doubt = excuse(case, window_ns, 0.0, late_s, own_way=True)
    yield fail_unless(doubt, sentence, *lines)


def _first_late(case: Case, life: Life, probe: Probe) -> Iterator[Finding]:
    """A life in which a probe was asked late for the first time, or not at all. What is behind a startup probe waits for it."""
    instance, startup = life.instance, life.spec.probe(ProbeKind.STARTUP)
    if instance.journal_started is None or is_journal_lost(case, life.pod):
        return
    begun_ns, behind = instance.journal_started.utc_ns, startup is not None and probe is not startup
    if startup is not None and behind:
        begun_ns = next((each.had_ns for each in answers_of(instance, startup) if not each.failed), None)
    first = next(answers_of(instance, probe), None)
    until_ns = asked_until_ns(case, life) if first is None else first.fact.utc_ns
    if not begun_ns or not until_ns:
        return
    if first is None and silent_end(case, life.pod, life.spec, instance, (begun_ns, until_ns)):
        return
    waited_s, took_s = (until_ns - begun_ns) / 1e9, starts_in_s(instance)
    periods = FOR_GOOD if behind else 2
    took_s += behind_s(probe, answers_of(instance, probe))
    most_s = probe.initial_delay_s + periods * probe.period_s + FIRST_WITHIN_S + took_s
    if waited_s <= most_s:
        return
    lines = (*instance.lines[:1], *((first.fact.line,) if first else ()))
    asked = f"was {'first ' if first else 'not '}asked {'' if first else 'once '}"
    sentence = (
        f"the {probe.kind} probe of {life.name} {asked}{'after' if first else 'within'} {seconds(waited_s, unlike=most_s)} "
        f"{at_lines(lines)}; {seconds(most_s)} is the longest."
    )
    # What comes on the way to the first question is work, so that a stall in any of it makes the question later.
    doubt = excuse(case, (begun_ns, until_ns), probe.initial_delay_s, waited_s - most_s, own_way=True)
    yield fail_unless(doubt, sentence, *lines)


def _not_resumed(case: Case, life: Life, probe: Probe) -> Iterator[Finding]:
    """A probe of a running container that a kubelet which has restarted asks late, or not at all.

    A worker begins within a period of its probe, at random: pkg/kubelet/prober/worker.go@v1.37.1 run.
    """
    instance, startup = life.instance, life.spec.probe(ProbeKind.STARTUP)
    if instance.start_ns is None or is_journal_lost(case, life.pod):
        return
    ended_ns = asked_until_ns(case, life)
    answers = tuple(answers_of(instance, probe))
    for outage in (each for each in kubelet_outages(case) if instance.start_ns < each.from_ns):
        has_started = startup is None or has_succeeded(answers_of(instance, startup), 1, outage.from_ns)
        if has_started is (probe is startup) or (
            probe is startup and starts_with_its_kubelet(case.prediction.deviations)
        ):
            continue
        before = [each for each in answers if (each.fact.utc_ns or 0) <= outage.to_ns]
        after = [each for each in answers if (each.fact.utc_ns or 0) > outage.to_ns]
        took_s = starts_in_s(instance) + max(behind_s(probe, before), behind_s(probe, after))
        most_s = probe.initial_delay_s + 2 * probe.period_s + RESUMED_WITHIN_S + took_s
        asked = next(iter(after), None)
        until_ns = ended_ns if asked is None else asked.fact.utc_ns or ended_ns
        waited_s = (until_ns - outage.to_ns) / 1e9
        if waited_s <= most_s:
            continue
        lines = (*instance.lines[:1], outage.line, *((asked.fact.line,) if asked else ()))
        sentence = (
            f"the {probe.kind} probe of {life.name} was not asked again {'until' if asked else 'within'} "
            f"{seconds(waited_s, unlike=most_s)} after the start of its kubelet {at_lines(lines)}; "
            f"{seconds(most_s)} is the longest."
        )
        doubt = excuse(case, (outage.to_ns, until_ns), 0.0, waited_s - most_s, own_way=True)
        yield fail_unless(doubt, sentence, *lines)


def asked_until_ns(case: Case, life: Life) -> int:
    """When a life had ended, was to be killed for a probe, or was to end with its pod: from then on nothing need be asked."""
    instance = life.instance
    fatals = (fatal(instance, each) for each in life.spec.killing_probes)
    ends_ns = (instance.exit_ns, leaves_ns(case, life.pod), *(each.had_ns for each in fatals if each is not None))
    return min((each for each in ends_ns if each), default=case.recording.end_ns)


def behind_s(probe: Probe, answers: Iterable[ProbeAnswer]) -> float:
    """How much longer than its period the kubelet took from one question of a probe to the next: its own work, as measured."""
    asked_ns = [each.fact.utc_ns for each in answers if each.fact.utc_ns is not None]
    return max((max(0.0, (after - before) / 1e9 - probe.period_s) for before, after in pairwise(asked_ns)), default=0.0)
