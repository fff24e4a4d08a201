"""Checker of kills by a failing probe: after the threshold of failures, not before, and not much later."""

from collections.abc import Iterator

from crashloop.checks.case import Case
from crashloop.checks.evidence import why_it_ended
from crashloop.checks.excuse import excuse
from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.checks.restart_all_triggers import ran
from crashloop.checks.text import at_lines, count, seconds
from crashloop.history.instances import Instance
from crashloop.history.stamps import Fact
from crashloop.model.planned_exit import planned_ends
from crashloop.spec.scenario import Container, Probe, ProbeKind

LATE_S = 1.0
"""Beyond a further period of the probe: its own run time, the kill and the exit."""
MIN_KILLS = 1


def check_probe_kill(case: Case) -> Checked:
    """A container whose probe fails MUST be killed once the failures reach the threshold, and MUST NOT be before.

    Needs min_kills (1) instances that outlived or met their kill.
    """
    findings: list[Finding] = []
    seen = 0
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            ends = planned_ends(spec)
            for number, instance in enumerate(ran(pod, spec.name)):
                if spec.probe is None or case.scenario.interventions or not ends[min(number, len(ends) - 1)].killed:
                    continue
                seen += instance.exit is not None
                findings += _judged(case, spec, spec.probe, instance)
    least = int(case.number("min_kills", MIN_KILLS))
    if not findings and seen < least:
        findings.append(inconclusive(f"{count(seen, 'kill')} seen, {least} needed: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts={"kills": seen})


def _earliest_start(instance: Instance) -> Fact | None:
    """The runtime's stamp may come late on a host that stalls, the journal's a moment after it."""
    starts = [each for each in (instance.started, instance.journal_started) if each and each.utc_ns is not None]
    return min(starts, key=lambda each: each.utc_ns or 0, default=None)


def _judged(case: Case, spec: Container, probe: Probe, instance: Instance) -> Iterator[Finding]:
    start, ended = _earliest_start(instance), instance.exit
    if start is None or start.utc_ns is None or (ended is not None and ended.utc_ns is None):
        return
    until_ns = ended.utc_ns if ended and ended.utc_ns is not None else case.recording.end_ns
    ran_s = (until_ns - start.utc_ns) / 1e9
    earliest_s = probe.fails_after_s + (probe.failure_threshold - 1) * probe.period_s
    latest_s = earliest_s + 2 * probe.period_s + LATE_S
    lines = (start.line, *((ended.line,) if ended else ()))
    why = (
        f"its {probe.kind} probe fails from {seconds(probe.fails_after_s)} on, every {seconds(probe.period_s)}, "
        f"and {count(probe.failure_threshold, 'failure')} kill"
    )
    if ended is not None and ran_s < earliest_s and probe.kind is ProbeKind.LIVENESS and not case.restarts_all:
        yield fail(
            f'"{spec.name}" was ended {seconds(ran_s, unlike=earliest_s)} after its start {at_lines(lines)}; '
            f"it was to run for {seconds(earliest_s)} at least: {why}.",
            *lines,
        )
    elif ran_s > latest_s:
        sentence = (
            f'"{spec.name}" ran on for {seconds(ran_s, unlike=latest_s)} {at_lines(lines)}; '
            f"it was to be killed within {seconds(latest_s)}: {why}."
        )
        # Each probe of the series can be held up, so the whole time counts.
        doubt = excuse(case, (start.utc_ns, until_ns), 0.0, ran_s - latest_s)
        yield fail(sentence, *lines) if doubt is None else inconclusive(f"{sentence} {doubt}.", *lines)
