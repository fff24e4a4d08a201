"""Checker of the Job of a scenario: how many pods it makes, and how it ends.

Theory of operation. The Job controller acts on the statuses of its pods, so these are what it is judged by. Whether they are
true, and whether a restart was due inside a pod, is for the checkers of pods.
"""

import math
from collections.abc import Iterator

from crashloop.checks.checker import Need, Seen, checker, unwatched
from crashloop.checks.finding import Finding, fail, inconclusive
from crashloop.history.recording import JobReport, PodHistory
from crashloop.history.statuses import StatusReport
from crashloop.model.owner import JobEnd, JobPod, counted_restarts, is_past_limit, job_end, replacement_s
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import why_it_ended
from crashloop.restarts.lives import ran
from crashloop.restarts.outages import may_be_old_ns
from crashloop.spec.owner import Job
from crashloop.words import at_lines, count, seconds

REACTS_WITHIN_S = 15.0
"""What the Job controller may take: it works a Job off again after one second at the earliest (syncJobBatchPeriod), and a busy
API server holds up each of its requests."""


@checker("job-ends", Need("pods", 1, "pod", is_shown=False), Need("restarts", 0, "restart", is_shown=False))
def check_job_ends(case: Case, seen: Seen) -> Iterator[Finding]:
    """A Job MUST count failures, replace pods and end as its limits and its podFailurePolicy say.

    Counted are its pods, and the restarts in the one that has the fewest.
    """
    job, reports = case.scenario.job, case.recording.jobs
    if job is None or not reports:
        yield inconclusive(f"nothing was recorded about a Job: {why_it_ended(case)}.")
        return
    last, restarts = reports[-1], _restarts(case)
    seen["pods"], seen["restarts"] = len(case.pods), min(restarts)
    seen.facts["job"] = {"end": last.end, "failed": last.status.failed, "restarts": restarts}
    lost = tuple(unwatched(case, "a status of a pod"))
    for each in min((_otherwise(case, job, last, line) for line in _views(case, last)), key=len):
        yield inconclusive(each.sentence, *each.lines) if lost else each
    yield from lost


def _views(case: Case, last: JobReport) -> Iterator[float]:
    """Before which lines the controller may have seen the pods as it ended the Job: its view lags behind their statuses."""
    yield math.inf
    seen_ns = last.t_ns - may_be_old_ns(case, last.t_ns)
    yield from (each.line for pod in case.pods for each in pod.statuses if each.t_ns >= seen_ns)


def _otherwise(case: Case, job: Job, last: JobReport, before_line: float) -> tuple[Finding, ...]:
    """What the Job did otherwise than is due after the statuses before that line of the history."""
    pods = [_seen_by_controller(case, job, pod, before_line) for pod in case.pods]
    due = job_end(job, case.scenario.pod.restart_policy, pods)
    return tuple(_other_end(case, last, due, pods))


def _seen_by_controller(case: Case, job: Job, pod: PodHistory, before_line: float) -> JobPod:
    """A pod as the Job controller saw it before it deleted it."""
    said = [each for each in pod.statuses if each.deletion_ns is None and each.line < before_line]
    if not said:
        return JobPod(phase="")
    last, policy = said[-1], case.scenario.pod.restart_policy
    looked_at = [each.state for name, each in last.containers.items() if job.fails_on_container in (None, name)]
    ended = [each.exit_code for each in looked_at if each.exit_code is not None]
    active = [each for each in said if not _has_ended(each)]
    counts = [{name: one.restart_count for name, one in each.containers.items()} for each in active]
    counted = [counted_restarts(case.scenario.pod, each, case.prediction.deviations) for each in counts]
    reached_ns = [each.t_ns for each, number in zip(active, counted, strict=True) if is_past_limit(job, policy, number)]
    # Past its limit the pod was to be deleted: once the controller had the time for that, later statuses do not count.
    was_due = bool(reached_ns) and last.t_ns - reached_ns[0] > REACTS_WITHIN_S * 1e9 + may_be_old_ns(case, last.t_ns)
    phase = active[-1].phase if was_due else last.phase
    return JobPod(phase=phase, exit_codes=tuple(ended), restarts=max(counted, default=0))


def _has_ended(status: StatusReport) -> bool:
    return status.phase in ("Succeeded", "Failed")


def _other_end(case: Case, last: JobReport, due: JobEnd | None, pods: list[JobPod]) -> Iterator[Finding]:
    said = max((pod.statuses[-1] for pod in case.pods if pod.statuses), key=lambda each: each.t_ns, default=None)
    lines = () if said is None else (said.line,)
    since_s = 0.0 if said is None else (case.recording.end_ns - said.t_ns) / 1e9
    if due is None and last.end is not None:
        why = f"with {count(sum(each.phase == 'Failed' for each in pods), 'failed pod')} it was to go on"
        yield fail(f"the Job was said to be {last.end} {at_lines([last.line])}; {why}.", last.line, *lines)
    elif due is None:
        yield from _unreplaced(case, pods, since_s, lines)
    elif due.pods < len(pods):
        further = case.pods[due.pods]
        seen = tuple(each.line for each in further.statuses[:1])
        yield fail(
            f"the Job made {count(len(pods), 'pod')} {at_lines(seen)}; after {due.pods} it was to be {due.end}.", *seen
        )
    elif last.end is None and since_s > REACTS_WITHIN_S:
        yield fail(
            f"the Job had not ended {seconds(since_s)} after its last pod {at_lines(lines)}; {due.end} was due.", *lines
        )
    elif last.end is None:
        yield inconclusive(f"the Job was not seen to end, {due.end} is due: {why_it_ended(case)}.")
    elif (last.end, last.status.failed, last.status.succeeded) != (due.end, due.failed, due.succeeded):
        yield fail(
            f"the Job was said to be {last.end}, {last.status.failed} failed and {last.status.succeeded} succeeded "
            f"{at_lines([last.line])}; {due.end}, {due.failed} failed and {due.succeeded} succeeded were due.",
            last.line,
        )


def _unreplaced(case: Case, pods: list[JobPod], since_s: float, lines: tuple[int, ...]) -> Iterator[Finding]:
    """A Job that has not ended and was not to: either its last pod has not, or the next is due."""
    wait_s = replacement_s(sum(each.phase == "Failed" for each in pods) or 1)
    if pods[-1].phase == "Failed" and since_s > wait_s + REACTS_WITHIN_S:
        yield fail(
            f"the Job made no pod for {seconds(since_s)} after the last had failed {at_lines(lines)}; "
            f"it was to be replaced after {seconds(wait_s)}.",
            *lines,
        )
    else:
        yield inconclusive(f"the Job was not seen to end: {why_it_ended(case)}.")


def _restarts(case: Case) -> list[int]:
    """Restarts in each pod, by truth."""
    names = [spec.name for spec in case.scenario.pod.containers]
    return [sum(max(0, len(ran(pod, name)) - 1) for name in names) for pod in case.pods]
