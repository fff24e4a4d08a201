"""Checker of kube-state-metrics: what it states of containers, against the statuses that the API server had then."""

from collections.abc import Iterator

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail_unless, inconclusive
from crashloop.history.payload import SampleData
from crashloop.history.recording import PodHistory, Sample
from crashloop.history.statuses import ContainerReport
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import lost_watch
from crashloop.spec.pod import ContainerKind
from crashloop.spec.state_metrics import FAMILIES, LAST_CODE, LAST_REASON, RESTARTS, WAITING

MIN_RESTARTS = 20
NEAR_NS = 1_000_000_000
"""The recorder and kube-state-metrics have each status by a watch of their own, one a moment before the other."""
REASONS = (WAITING, LAST_REASON)
"""Families that have their value in the label `reason`."""

Stated = dict[str, str]
"""The value of each family, as text; a family without a value is left out."""


def check_state_metrics(case: Case) -> Checked:
    """kube-state-metrics MUST state restarts, waiting reason, and reason and code of the last exit as a status of then does.

    Needs its metrics, and in them a container that waits after min_restarts (20) restarts.
    """
    last = case.recording.samples[-1] if case.recording.samples else None
    if last is None or last.data.unread is not None:
        why = "were not read" if last is None else f"could not be read (history line {last.line}): {last.data.unread}"
        lines = () if last is None else (last.line,)
        return Checked(findings=(inconclusive(f"the metrics of kube-state-metrics {why}.", *lines),))
    findings: list[Finding] = []
    seen = 0
    for pod in case.pods:
        for spec in case.scenario.pod.of_kind(ContainerKind.REGULAR):
            stated = _stated(last.data, pod.uid, spec.name)
            findings += _contradictions(case, last, pod, spec.name, stated)
            if WAITING in stated and LAST_CODE in stated:
                seen = max(seen, int(stated.get(RESTARTS, 0)))
    if not findings:
        findings += too_few(case, seen, "min_restarts", MIN_RESTARTS, "restart", "of a container that waits")
    return Checked(findings=tuple(findings), facts={"restarts": seen})


def _contradictions(case: Case, sample: Sample, pod: PodHistory, name: str, stated: Stated) -> Iterator[Finding]:
    """One for a container of which no status of that time says the same."""
    reports = [(each.line, each.t_ns, each.containers[name]) for each in pod.statuses if name in each.containers]
    before = [each for each in reports if each[1] <= sample.t_ns - NEAR_NS]
    near = [each for each in reports if abs(each[1] - sample.t_ns) < NEAR_NS]
    possible = [*before[-1:], *near]
    if not possible or any(_due(report) == stated for _, _, report in possible):
        return
    line, _, report = possible[-1]
    due = _due(report)
    family = next(each for each in FAMILIES if due.get(each) != stated.get(each))
    lost = lost_watch(case, possible[0][1], sample.t_ns + NEAR_NS)
    doubt = None if lost is None else f"The watch was lost meanwhile (history line {lost.line})"
    sentence = (
        f'{family} of "{name}" is {stated.get(family, "not stated")} (history line {sample.line}); by the statuses of '
        f"that time {due.get(family, 'no value')} was due (history line {line})."
    )
    yield fail_unless(doubt, sentence, sample.line, line)


def _stated(data: SampleData, uid: str, container: str) -> Stated:
    found: Stated = {}
    for each in data.series:
        if (each.labels.get("uid"), each.labels.get("container")) == (uid, container):
            found[each.name] = each.labels.get("reason", "") if each.name in REASONS else f"{each.value:g}"
    return found


def _due(report: ContainerReport) -> Stated:
    """What kube-state-metrics makes of a status: internal/store/pod.go@v2.15.0."""
    due = {RESTARTS: f"{report.restart_count:g}"}
    if report.state.kind == "waiting" and report.state.reason:
        due[WAITING] = report.state.reason
    if report.last_state is not None and report.last_state.kind == "terminated":
        due |= {LAST_REASON: report.last_state.reason, LAST_CODE: f"{report.last_state.exit_code or 0:g}"}
    return due
