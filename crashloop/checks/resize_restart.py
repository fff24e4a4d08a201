"""Checker of an in-place resize whose resizePolicy needs a restart."""

from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.history.instances import Instance
from crashloop.history.recording import Done
from crashloop.restarts.absences import SLOW_API_NS
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
from crashloop.spec.intervention import InterventionKind
from crashloop.words import at_lines, seconds

WITHIN_S = 5.0
"""An update of a pod makes the kubelet look at it at once; it stops the container within the grace period of 2 s."""


def check_resize_restart(case: Case) -> Checked:
    """A resize that asks to restart the container MUST stop it and start it once, whatever its rules say.

    Needs a resize of a container that had begun, accepted by the API server, and a watch of 5 s after its answer; nothing where
    the scenario resizes nothing. Until the container is stopped, up to 30 s may be the update's way to the kubelet.
    """
    findings: list[Finding] = []
    took: list[float] = []
    for spec in case.scenario.pod.containers:
        for done in case.recording.interventions if spec.restarts_on_resize else ():
            if done.data.action != InterventionKind.RESIZE or (done.data.arguments or {}).get("container") != spec.name:
                continue
            if not done.ok:
                findings.append(
                    inconclusive(f"the resize failed {at_lines([done.line])}: {done.data.outcome}.", done.line)
                )
                continue
            finding, took_s = _judged(case, spec.name, done)
            findings += [finding] if finding else []
            took += [] if took_s is None else [round(took_s, 3)]
    asked = any(each.action is InterventionKind.RESIZE for each in case.scenario.interventions)
    if asked and not took and not findings:
        findings.append(inconclusive(f"no resize was seen, one needed: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts={"restarted_after_s": took})


def _judged(case: Case, name: str, done: Done) -> tuple[Finding | None, float | None]:
    instances = ran(case.pod, name)
    later = [each for each in instances if _may_follow(each, done.t_ns)]
    earlier = instances[: len(instances) - len(later)]
    if not earlier:
        return inconclusive(f'"{name}" had not begun when it was resized {at_lines([done.line])}.', done.line), None
    if len(later) > 1:
        lines = (done.line, *later[1].lines[:1])
        return fail(f'the resize restarted "{name}" a second time {at_lines(lines)}; once was due.', *lines), None
    answered_ns = done.data.ended_ns or done.t_ns
    until_ns = max(answered_ns, (later[0].begun_ns or 0) if later else case.recording.end_ns)
    took_s = (until_ns - answered_ns) / 1e9
    if later and took_s <= WITHIN_S:
        return None, took_s
    lines = (done.line, *(later[0].lines[:1] if later else ()))
    started = "started" if later else "not started"
    seen = f'"{name}" was {started} within {seconds(took_s, unlike=WITHIN_S)} of its resize {at_lines(lines)}'
    if took_s <= WITHIN_S:
        return inconclusive(f"{seen}: {why_it_ended(case)}.", *lines), None
    seen = f"{seen}; {seconds(WITHIN_S)} is the longest."
    window_ns = (answered_ns, until_ns)
    blind = blind_spot(case, case.pod, instances, *window_ns)
    unheard_s = _unheard_s(earlier[-1], *window_ns)
    if blind:
        doubt: str | None = f"A start could have gone unseen: {blind}"
    elif took_s - unheard_s <= WITHIN_S:
        doubt = f"Nothing shows that the kubelet had heard of it for {seconds(unheard_s)}"
    else:
        doubt = excuse(case, window_ns, 0.0, took_s - unheard_s - WITHIN_S)
    return fail_unless(doubt, seen, *lines), took_s


def _unheard_s(resized: Instance, answered_ns: int, until_ns: int) -> float:
    """For how long the update may have been on its way: until the container was stopped, and no longer than a slow API takes."""
    stopped_ns = until_ns if resized.exit_ns is None else max(answered_ns, resized.exit_ns)
    return min(stopped_ns - answered_ns, until_ns - answered_ns, SLOW_API_NS) / 1e9


def _may_follow(instance: Instance, t_ns: int) -> bool:
    """Whether it began after that time; a coarse stamp is rounded down."""
    begun = instance.begun
    return begun is not None and begun.utc_ns is not None and begun.utc_ns + begun.resolution_ns > t_ns
