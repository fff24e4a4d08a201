"""Checkers of how containers are ended: by SIGTERM first, and by SIGKILL once the grace period has passed.

Theory of operation. What ignores SIGTERM is killed when the grace period of the failed probe has passed, or that of the deleted
pod; RestartAllContainers heeds none. Whatever the reason is, everything gets SIGTERM and two seconds at least
(pkg/kubelet/kuberuntime/kuberuntime_container.go@v1.37.1 killContainer, minimumGracePeriodInSeconds). So an end by SIGKILL of
what exits on SIGTERM shows that none came, unless the host left the program no time, or its process had no handler yet.
"""

from collections.abc import Iterator
from itertools import product

import msgspec

from crashloop.checks.checker import Life, Need, Seen, checker, lives
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.checks.kills import ANSWERED_WITHIN_S, last_failure
from crashloop.restarts.answers import fatal
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import unseen_exit
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import exited_by_itself, leaves_ns, ran, was_killed
from crashloop.restarts.restart_all import replacements
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import GRACE_PERIOD_S
from crashloop.spec.program import KILLED
from crashloop.words import at_lines, seconds

ENDED_WITHIN_S = 10.0
"""No text names a number. RestartAllContainers gives each container 2 s and ends one after the other:
pkg/kubelet/kuberuntime/kuberuntime_container.go@v1.37.1 minimumGracePeriodInSeconds."""
GRACE_LATE_S = 10.0
"""From its reason to SIGTERM, and from the end of the grace period to the exit, on a host that has much to do."""
GRACE_KILLS = Need("kills", 1, "kill")


class _Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why an instance is to be ended that ignores SIGTERM."""

    since_ns: int
    """When the reason was there; the kubelet knows of it later."""
    unsure_ns: int = 0
    lines: tuple[int, ...] = ()
    what: str
    grace_s: int


@checker("probe-grace", GRACE_KILLS, once=True)
def check_probe_grace(case: Case, seen: Seen) -> Iterator[Finding]:
    """What ignores SIGTERM MUST be killed when the grace period of the probe that failed has passed, else the pod's."""
    for life in _stubborn(case):
        for probe in life.spec.killing_probes:
            last = fatal(life.instance, probe)
            if last is not None and last.had_ns:
                reason = _Reason(
                    since_ns=last.had_ns,
                    unsure_ns=last.fact.resolution_ns,
                    lines=(last.fact.line,),
                    what=last_failure(probe),
                    grace_s=case.scenario.pod.grace_s if probe.grace_s is None else probe.grace_s,
                )
                yield from _beyond_grace(case, seen, life, reason)


@checker("pod-grace", GRACE_KILLS, once=True)
def check_pod_grace(case: Case, seen: Seen) -> Iterator[Finding]:
    """What ignores SIGTERM MUST be killed when the grace period of its pod has passed that is deleted, or whose file changes."""
    changes = {each.data.action: each.t_ns for each in reversed(case.recording.interventions) if each.ok}
    renewed_ns = changes.get(InterventionKind.RENEW_STATIC_POD)
    is_of_file = renewed_ns is not None or InterventionKind.EDIT_STATIC_POD in changes
    what = f"the {'change of the file' if is_of_file else 'deletion'} of its pod"
    for life in _stubborn(case):
        left_ns, exit_ns = leaves_ns(case, life.pod) or renewed_ns, life.instance.exit_ns
        if left_ns is None or (life.instance.begun_ns or 0) > left_ns:
            continue
        if life.instance.exit is None or (exit_ns or 0) > left_ns:
            reason = _Reason(since_ns=left_ns, what=what, grace_s=case.scenario.pod.grace_s)
            yield from _beyond_grace(case, seen, life, reason)


def _stubborn(case: Case) -> Iterator[Life]:
    """Each life of a container that ignores SIGTERM."""
    return (each for each in lives(case) if each.spec.exit_code_on_term == KILLED)


def _beyond_grace(case: Case, seen: Seen, life: Life, reason: _Reason) -> Iterator[Finding]:
    """A kill sooner than the grace period allows, or later."""
    name, ended = life.spec.name, life.instance.exit
    seen["kills"] += ended is not None
    until_ns = case.recording.end_ns if ended is None else life.instance.exit_ns
    if until_ns is None:
        return
    lived_s, grace_s = (until_ns - reason.since_ns) / 1e9, reason.grace_s
    unsure_s = (reason.unsure_ns + (ended.resolution_ns if ended else 0)) / 1e9
    lines = (*reason.lines, *((ended.line,) if ended else ()))
    after = f"after {reason.what}{f' {at_lines(lines)}' if lines else ''}; it had {seconds(grace_s)} of grace."
    if ended is not None and exited_by_itself(case, name, life.number, life.instance):
        return
    if ended is not None and lived_s < grace_s - unsure_s:
        yield fail(f'"{name}" was ended {seconds(lived_s, unlike=grace_s)} {after}', *lines)
    elif ended is None and (unseen := unseen_exit(case, life.pod, reason.since_ns, until_ns)):
        yield inconclusive(f'the end of "{name}" could have gone unseen: {unseen}.')
    elif lived_s > grace_s + GRACE_LATE_S:
        held = excuse(case, (reason.since_ns, until_ns), grace_s, lived_s - grace_s - GRACE_LATE_S)
        yield fail_unless(held, f'"{name}" ran on for {seconds(lived_s)} {after}', *lines)


@checker(
    "restart-all-grace",
    Need("ended", 1, "container", "that heeds no SIGTERM and was ended"),
    about=lambda scenario: scenario.pod.restarts_all,
)
def check_restart_all_grace(case: Case, seen: Seen) -> Iterator[Finding]:
    """RestartAllContainers MUST end what runs without the grace period of the pod, also what only SIGKILL ends."""
    stubborn = [each for each in case.scenario.pod.containers if each.exit_code_on_term == KILLED]
    for pod, spec in product(case.pods, stubborn if case.scenario.pod.grace_s > ENDED_WITHIN_S else ()):
        replaced = replacements(case, pod, spec.name)
        for instance in (each for each in ran(pod, spec.name) if each.exit and each.ordinal in replaced):
            trigger, exit_ns = replaced[instance.ordinal].trigger, instance.exit_ns or 0
            took_s = (exit_ns - trigger.t_ns) / 1e9
            seen["ended"] += took_s > 0
            if took_s > ENDED_WITHIN_S and instance.exit is not None:
                lines, window_ns = (trigger.exited.line, instance.exit.line), (trigger.t_ns, exit_ns)
                sentence = (
                    f'"{spec.name}" ran on for {seconds(took_s)} after the exit that triggers RestartAllContainers '
                    f"{at_lines(lines)}; {seconds(ENDED_WITHIN_S)} is the longest."
                )
                yield fail_unless(excuse(case, window_ns, 0.0, took_s - ENDED_WITHIN_S), sentence, *lines)


@checker(
    "term-first",
    Need("ended", 1, "end", "of a container that exits on SIGTERM", is_shown=False),
    about=lambda scenario: (
        scenario.is_disturbed
        or scenario.pod.restarts_all
        or any(each.killing_probes or each.post_start for each in scenario.pod.containers)
    ),
)
def check_term_first(case: Case, seen: Seen) -> Iterator[Finding]:
    """What exits on SIGTERM MUST NOT be ended by SIGKILL: it gets SIGTERM, and two seconds to end by itself."""
    for life in lives(case):
        spec, instance = life.spec, life.instance
        heeds = spec.program.known and spec.exit_code_on_term != KILLED and not case.is_removed(spec.name)
        if instance.exit is None or not heeds or not was_killed(case, spec.name, life.number, instance):
            continue
        seen["ended"] += 1
        start_ns, exit_ns, spoke = instance.start_ns, instance.exit_ns, instance.journal_started
        if instance.exit_code != KILLED or start_ns is None or exit_ns is None or spoke is None or spoke.utc_ns is None:
            continue
        graces_s = {GRACE_PERIOD_S, *case.scenario.pod.graces_s(spec)}
        signalled_ns = [exit_ns - grace_s * 1_000_000_000 for grace_s in graces_s]
        if any(start_ns <= each < spoke.utc_ns + _kill_takes_ns(case, each, exit_ns) for each in signalled_ns):
            continue  # its process may have heard nothing
        lines = (spoke.line, instance.exit.line)
        sentence = (
            f"{life.name} was ended by SIGKILL {at_lines(lines)}; it exits on SIGTERM, and had 2 s at least for that."
        )
        doubts = (
            excuse(case, (each, exit_ns), 0.0, (exit_ns - each) / 1e9 - ANSWERED_WITHIN_S)
            for each in signalled_ns
            if each >= spoke.utc_ns
        )
        yield fail_unless(next(filter(None, doubts), None), sentence, *lines)


def _kill_takes_ns(case: Case, due_ns: int, exit_ns: int) -> int:
    """By how much SIGKILL and the exit may have come after the end of a grace period, so that SIGTERM was as much earlier."""
    return round((ANSWERED_WITHIN_S + case.recording.host.held_s(due_ns, exit_ns)) * 1e9)
