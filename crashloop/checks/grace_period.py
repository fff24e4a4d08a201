"""Checkers of grace periods: what ignores SIGTERM is killed when that of the failed probe, or of the deleted pod, has passed."""

from collections.abc import Iterable, Iterator

import msgspec

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.checks.probe_answers import fatal
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import leaves_ns, unseen_exit
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
from crashloop.spec.pod import Container
from crashloop.spec.program import KILLED
from crashloop.words import at_lines, seconds

LATE_S = 10.0
"""From its reason to SIGTERM, and from the end of the grace period to the exit, on a host that has much to do."""
MIN_KILLS = 1


class _Kill(msgspec.Struct, frozen=True, kw_only=True):
    """A reason to end an instance that ignores SIGTERM."""

    pod: PodHistory
    name: str
    instance: Instance
    from_ns: int
    """When the reason was there; the kubelet knows of it later."""
    unsure_ns: int = 0
    lines: tuple[int, ...] = ()
    reason: str
    grace_s: int


def check_probe_grace(case: Case) -> Checked:
    """A container that ignores SIGTERM MUST be killed when the grace period of the probe that failed has passed, else the pod's.

    Needs min_kills (1) exits of such containers after as many failures in a row as the probe's threshold says.
    """
    return _checked(case, _by_probes(case))


def check_pod_grace(case: Case) -> Checked:
    """A container that ignores SIGTERM MUST be killed when the grace period of its pod has passed, if that is deleted.

    Needs min_kills (1) exits of such containers after the deletion.
    """
    return _checked(case, _by_deletions(case))


def _checked(case: Case, kills: Iterable[_Kill]) -> Checked:
    findings: list[Finding] = []
    seen = 0
    for kill in kills:
        seen += kill.instance.exit is not None
        findings += _wrong(case, kill)
    if not findings:
        findings += too_few(case, seen, "min_kills", MIN_KILLS, "kill")
    return Checked(findings=tuple(findings[:1]), facts={"kills": seen})


def _by_probes(case: Case) -> Iterator[_Kill]:
    for pod, spec, instance in _stubborn(case):
        for probe in spec.killing_probes:
            last = fatal(instance, probe)
            if last is not None and last.had_ns:
                yield _Kill(
                    pod=pod,
                    name=spec.name,
                    instance=instance,
                    from_ns=last.had_ns,
                    unsure_ns=last.fact.resolution_ns,
                    lines=(last.fact.line,),
                    reason=f"failure {probe.failure_threshold} in a row of its {probe.kind} probe",
                    grace_s=case.scenario.pod.grace_s if probe.grace_s is None else probe.grace_s,
                )


def _by_deletions(case: Case) -> Iterator[_Kill]:
    for pod, spec, instance in _stubborn(case):
        left_ns = leaves_ns(case, pod)
        if left_ns is not None and (instance.exit is None or (instance.exit_ns or 0) > left_ns):
            yield _Kill(
                pod=pod,
                name=spec.name,
                instance=instance,
                from_ns=left_ns,
                reason="the deletion of its pod",
                grace_s=case.scenario.pod.grace_s,
            )


def _stubborn(case: Case) -> Iterator[tuple[PodHistory, Container, Instance]]:
    """Each life of a container that ignores SIGTERM."""
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            yield from ((pod, spec, each) for each in ran(pod, spec.name) if spec.exit_code_on_term == KILLED)


def _wrong(case: Case, kill: _Kill) -> Iterator[Finding]:
    ended = kill.instance.exit
    until_ns = case.recording.end_ns if ended is None else kill.instance.exit_ns
    if until_ns is None:
        return
    lived_s, unsure_s = (until_ns - kill.from_ns) / 1e9, (kill.unsure_ns + (ended.resolution_ns if ended else 0)) / 1e9
    lines = (*kill.lines, *((ended.line,) if ended else ()))
    after = f"after {kill.reason}{f' {at_lines(lines)}' if lines else ''}; it had {seconds(kill.grace_s)} of grace."
    if ended is not None and lived_s < kill.grace_s - unsure_s:
        yield fail(f'"{kill.name}" was ended {seconds(lived_s, unlike=kill.grace_s)} {after}', *lines)
    elif ended is None and (unseen := unseen_exit(case, kill.pod, kill.from_ns, until_ns)):
        yield inconclusive(f'the end of "{kill.name}" could have gone unseen: {unseen}.')
    elif lived_s > kill.grace_s + LATE_S:
        held = excuse(case, (kill.from_ns, until_ns), kill.grace_s, lived_s - kill.grace_s - LATE_S)
        yield fail_unless(held, f'"{kill.name}" ran on for {seconds(lived_s)} {after}', *lines)
