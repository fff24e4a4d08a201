"""Checks restartCount and the last exit in the container status against the real instances.

Theory of operation. A watch delivers a pod's newest status, not every one, and the kubelet merges statuses in quick
succession, so an unseen value proves nothing. Judged are properties of every single status: its count does not exceed the
containers created before its receipt, it never falls below an earlier one, its data about an instance fit that instance,
and the last status, if it had the time to arrive, has counted every restart.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from crashloop.checks.evidence import unwatched
from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import ContainerReport, StatusReport
from crashloop.model.purged_exit import counts_anew
from crashloop.restarts.absences import SETTLED_NS, may_lag_ns
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, lost_watch, stated_until_ns, why_it_ended
from crashloop.words import at_lines, count

MIN_RESTARTS = 1


def check_restart_count(case: Case) -> Checked:
    """restartCount MUST count each restart once, and the status MUST show the last exit.

    Needs min_restarts (1) restarts of one container, and a status that has counted as many.
    """
    findings: list[Finding] = []
    restarts: dict[str, int] = {}
    counted: dict[str, int] = {}
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            instances = pod.instances(spec.name)
            reports = [(each, each.containers[spec.name]) for each in pod.statuses if spec.name in each.containers]
            restarts[spec.name] = max(0, len(instances) - 1)
            counted[spec.name] = reports[-1][1].restart_count if reports else 0
            findings += _ahead(case, pod, spec.name, instances, reports)
            findings += _falling(spec.name, reports)
            findings += _of_another_instance(case, pod, spec.name, instances, reports)
            findings += _behind(case, pod, spec.name, instances, reports)
    if not findings:
        findings += unwatched(case, "a status")
    least = int(case.number("min_restarts", MIN_RESTARTS))
    seen = max(min(restarts[name], counted[name]) for name in restarts)
    if not findings and seen < least:
        findings.append(
            inconclusive(f"{count(seen, 'restart')} seen and counted, {least} needed: {why_it_ended(case)}.")
        )
    return Checked(findings=tuple(findings), facts={"restarts": restarts, "restart_counts": counted})


_Reports = list[tuple[StatusReport, ContainerReport]]


def _ahead(
    case: Case, pod: PodHistory, name: str, instances: tuple[Instance, ...], reports: _Reports
) -> Iterator[Finding]:
    """The first status that counts more restarts than there had been."""
    created_ns = [begun_ns for each in instances if (begun_ns := each.begun_ns) is not None]
    seen_by_runtime = all(each.created for each in instances)
    for status, report in reports:
        known = bisect_right(created_ns, status.t_ns)
        # "restartCount rises when the containers are removed, before they start again": KEP-5532, kubelet_pods.go
        waits = (case.restarts_all or case.is_removed(name)) and _is_of_none(report)
        if report.restart_count <= max(known - 1, 0) + waits:
            continue
        if not seen_by_runtime and report.restart_count < len(instances):
            continue  # the journal is stamped after the create that the status counts
        sentence = (
            f'the status said restartCount {report.restart_count} of "{name}" {at_lines([status.line])} '
            f"when {count(max(known - 1, 0), 'restart')} had been seen."
        )
        blind = blind_spot(case, pod, instances, case.recording.begin_ns, status.t_ns)
        if _stamped_after(case, created_ns[: report.restart_count + 1], status):
            yield inconclusive(f"{sentence} The wall clock jumped meanwhile.", status.line)
        elif blind is not None:
            yield inconclusive(f"{sentence} One could have gone unseen: {blind}.", status.line)
        else:
            yield fail(sentence, status.line)
        return


def _is_of_none(report: ContainerReport) -> bool:
    """Whether a state is of no instance: it waits for one, or its pod ended while it did (ContainerStatusUnknown)."""
    return report.state.kind == "waiting" or (report.state.kind == "terminated" and not report.state.container_id)


def _stamped_after(case: Case, counted_ns: list[int], status: StatusReport) -> bool:
    """Whether a wall clock that jumped back may be why what a status counts is stamped later than the status."""
    newest_ns = counted_ns[-1] if counted_ns else status.t_ns
    return 0 < newest_ns - status.t_ns <= case.recording.clocks.step_within_ns(status.t_ns, newest_ns)


def _falling(name: str, reports: _Reports) -> Iterator[Finding]:
    """The first status that counts less than the one before it."""
    for (before, earlier), (after, later) in pairwise(reports):
        if later.restart_count < earlier.restart_count:
            lines = (before.line, after.line)
            yield fail(
                f'restartCount of "{name}" fell from {earlier.restart_count} to {later.restart_count} {at_lines(lines)}; '
                "it counts every restart and never falls.",
                *lines,
            )
            return


def _of_another_instance(
    case: Case, pod: PodHistory, name: str, instances: tuple[Instance, ...], reports: _Reports
) -> Iterator[Finding]:
    """The first status that says an instance runs, and counts more or fewer restarts than made that instance.

    The container id names the instance, so no delay on the way of the status explains the difference.
    """
    if case.restarts_all:  # counts rise when containers are removed: KEP-5532
        return
    ordinals = {each.container_id: each for each in instances if each.container_id is not None}
    for status, report in reports:
        instance = ordinals.get(report.container_id) if report.state.kind == "running" else None
        if instance is None or instance.ordinal == report.restart_count:
            continue
        if report.restart_count < instance.ordinal and _counted_anew(case, name, instances[: instance.ordinal + 1]):
            continue
        lines = (*instance.lines[:1], status.line)
        sentence = (
            f'the status said restartCount {report.restart_count} of "{name}" while the instance of restart '
            f"{instance.ordinal} ran {at_lines(lines)}."
        )
        blind = blind_spot(case, pod, instances, case.recording.begin_ns, status.t_ns)
        yield fail_unless(blind and f"An earlier one could have gone unseen: {blind}", sentence, *lines)
        return


def _counted_anew(case: Case, name: str, instances: tuple[Instance, ...]) -> bool:
    """Whether, by the variants in force, the last of these is counted from the removal of one before it for a new sandbox."""
    known = counts_anew(case.scenario.pod.container(name), case.prediction.deviations)
    return known and any(before.removed and case.lost_sandbox(before, after) for before, after in pairwise(instances))


def _behind(
    case: Case, pod: PodHistory, name: str, instances: tuple[Instance, ...], reports: _Reports
) -> Iterator[Finding]:
    """A last status that has not counted every restart, though it had the time."""
    until_ns, stated = stated_until_ns(case, pod), reports[-1][1].restart_count if reports else 0
    created = [(each, begun_ns) for each in instances if (begun_ns := each.begun_ns) is not None]
    settled = [each for each, created_ns in created if created_ns <= until_ns - SETTLED_NS]
    if stated >= max(0, len(settled) - 1) or _counted_anew(case, name, instances):
        return
    overdue = [each for each, created_ns in created if created_ns + may_lag_ns(case, created_ns, until_ns) <= until_ns]
    judged = overdue if stated < len(overdue) - 1 else settled
    newest, due = judged[-1], len(judged) - 1
    lines = (*newest.lines[:1], *((reports[-1][0].line,) if reports else ()))
    sentence = (
        f'the last status said restartCount {stated} of "{name}" after {count(due, "restart")} {at_lines(lines)}; '
        f"{due} was to be said."
    )
    created_ns = next(at_ns for each, at_ns in created if each is newest)
    lost = lost_watch(case, created_ns, until_ns)
    if not reports:
        yield inconclusive(f"{sentence} No pod status was seen at all.", *lines)
    elif lost is not None:
        yield inconclusive(f"{sentence} The watch was lost meanwhile (history line {lost.line}).", *lines, lost.line)
    elif judged is settled:
        yield inconclusive(f"{sentence} The host, the API server or the watch may have held it up.", *lines)
    else:
        yield fail(sentence, *lines)
