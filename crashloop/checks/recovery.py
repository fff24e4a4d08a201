"""Checker of the recovery of a container that fails until what it depends on is back."""

from crashloop.checks.finding import Checked, Finding, fail_unless, inconclusive
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.model.lateness import latest_s
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
from crashloop.spec.pod import Container
from crashloop.words import at_lines, seconds


def check_recovery(case: Case) -> Checked:
    """A container MUST run within the node's maximum delay, and the kubelet's retry, after what it depends on is back.

    Needs the start of a life after that moment.
    """
    findings: list[Finding] = []
    facts: dict[str, float] = {}
    for spec in case.scenario.pod.containers:
        if spec.program.fails_until_s is not None:
            finding, recovery_s = _judged(case, case.pod, spec, spec.program.fails_until_s)
            findings += [finding] if finding else []
            facts |= {} if recovery_s is None else {spec.name: round(recovery_s, 3)}
    return Checked(findings=tuple(findings), facts={"recovery_s": facts})


def _judged(case: Case, pod: PodHistory, spec: Container, fails_until_s: float) -> tuple[Finding | None, float | None]:
    instances = ran(pod, spec.name)
    first_ns = _begun_ns(instances[0]) if instances else None
    if first_ns is None:
        return inconclusive(f'"{spec.name}" was never seen to start: {why_it_ended(case)}.'), None
    back_ns = first_ns + round(fails_until_s * 1e9)
    recovered = next((each for each in instances if (_begun_ns(each) or 0) >= back_ns), None)
    took_s = ((case.recording.end_ns if recovered is None else (recovered.begun_ns or 0)) - back_ns) / 1e9
    failed_s = max((life.run_s for life in spec.program.lives), default=0.0)
    kubelet = case.in_force_at(back_ns)
    maximum_s = kubelet.curve.maximum_s
    bound_s = failed_s + latest_s(maximum_s, kubelet.version, mode=case.scenario.mode)
    lines = (recovered or instances[-1]).lines[:1]
    came = "was started" if recovered else "was not started"
    seen = (
        f'"{spec.name}" {came} within {seconds(max(took_s, 0.0), unlike=bound_s)} of the return of what it depends on '
        f"{at_lines(lines)}; {seconds(bound_s)} is the longest."
    )
    if took_s > bound_s:
        doubt = excuse(case, (back_ns, back_ns + round(took_s * 1e9)), maximum_s, took_s - bound_s)
        return fail_unless(doubt, seen, *lines), took_s
    return (None, took_s) if recovered else (inconclusive(f"{seen[:-1]}: {why_it_ended(case)}.", *lines), None)


def _begun_ns(instance: Instance) -> int | None:
    """When a life began by the clock that its program reads."""
    fact = instance.journal_started or instance.start
    return None if fact is None else fact.utc_ns
