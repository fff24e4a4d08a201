"""Checker of activeDeadlineSeconds: the pod fails when they have passed, and nothing of it runs on or starts again."""

from collections.abc import Iterator

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.history.recording import PodHistory
from crashloop.model.phase import FAILED
from crashloop.restarts.absences import SETTLED_NS, may_lag_ns
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import DEADLINE_EXCEEDED, blind_spot, deadline_ns, lost_watch, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
from crashloop.spec.pod import GRACE_PERIOD_S
from crashloop.words import at_lines, seconds

LATE_S = 5.0 + GRACE_PERIOD_S
"""startTime is rounded down to a second, the kubelet looks once a second, syncs, and gives containers their grace period."""
MIN_RESTARTS = 1


def check_deadline(case: Case) -> Checked:
    """A pod MUST fail with the reason DeadlineExceeded once its active deadline has passed, and nothing of it runs from then on.

    Needs min_restarts (1) restarts before that, and a watch of 10 s after it.
    """
    findings: list[Finding] = []
    restarts = 0
    for pod in case.pods:
        due_ns = deadline_ns(case, pod)
        if due_ns is None:
            findings.append(inconclusive(f"no status with a startTime was seen: {why_it_ended(case)}."))
            continue
        begun_ns = [each.begun_ns or 0 for spec in case.scenario.pod.containers for each in ran(pod, spec.name)[1:]]
        restarts += sum(each < due_ns for each in begun_ns)
        findings += (*_too_early(pod, due_ns), *_runs_on(case, pod, due_ns))
        findings += () if findings else _unstated(case, pod, due_ns)
    if not findings:
        findings += too_few(case, restarts, "min_restarts", MIN_RESTARTS, "restart", "before the deadline")
    return Checked(findings=tuple(findings[:1]), facts={"restarts": restarts})


def _too_early(pod: PodHistory, due_ns: int) -> Iterator[Finding]:
    for status in pod.statuses:
        if status.phase == FAILED and status.t_ns < due_ns:
            early = seconds((due_ns - status.t_ns) / 1e9)
            yield fail(
                f"the pod was said to have failed {early} before its deadline {at_lines([status.line])}.", status.line
            )
            return


def _runs_on(case: Case, pod: PodHistory, due_ns: int) -> Iterator[Finding]:
    """The last instance that was there later than the kubelet has for the end of the pod."""
    for spec in case.scenario.pod.containers:
        for instance in reversed(ran(pod, spec.name)):
            until_ns = case.recording.end_ns if instance.exit is None else instance.exit_ns
            if until_ns is None:
                continue
            late_s = (until_ns - due_ns) / 1e9
            if late_s <= LATE_S:
                continue
            lines = tuple(fact.line for fact in (instance.begun, instance.exit) if fact)
            sentence = (
                f'instance {instance.ordinal} of "{spec.name}" ran until {seconds(late_s)} after the deadline of its pod '
                f"{at_lines(lines)}; {seconds(LATE_S)} are enough to end it."
            )
            yield fail_unless(excuse(case, (due_ns, until_ns), 0.0, late_s - LATE_S), sentence, *lines)
            return
        blind = blind_spot(case, pod, pod.instances(spec.name), due_ns, case.recording.end_ns)
        if blind is not None:
            yield inconclusive(f'a start of "{spec.name}" after the deadline could have gone unseen: {blind}.')


def _unstated(case: Case, pod: PodHistory, due_ns: int) -> Iterator[Finding]:
    """The last status, once the kubelet has had the time to write it."""
    last, end_ns = pod.statuses[-1], case.recording.end_ns
    watched_ns = end_ns - due_ns
    if watched_ns < SETTLED_NS:
        yield inconclusive(
            f"{seconds(watched_ns / 1e9)} were watched after the deadline, {seconds(SETTLED_NS / 1e9)} needed: "
            f"{why_it_ended(case)}."
        )
    elif (last.phase, last.reason) != (FAILED, DEADLINE_EXCEEDED):
        said = f"{last.phase}, {last.reason}" if last.reason else f"{last.phase} without a reason"
        sentence = (
            f"the last status of a pod whose deadline has passed says {said} {at_lines([last.line])}; "
            f"{FAILED}, {DEADLINE_EXCEEDED} was due."
        )
        lagging = watched_ns <= may_lag_ns(case, due_ns, end_ns) and last.phase != FAILED
        held_up = lagging or lost_watch(case, due_ns, end_ns) is not None
        doubt = "The host, the API server or the watch may have held it up" if held_up else None
        yield fail_unless(doubt, sentence, last.line)
