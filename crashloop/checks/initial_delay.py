"""Checker of initialDelaySeconds: a probe is not asked before they have passed."""

from collections.abc import Iterator

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail
from crashloop.checks.probe_answers import answers_of
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.restarts.case import Case
from crashloop.restarts.lives import ran
from crashloop.spec.probe import Probe
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
