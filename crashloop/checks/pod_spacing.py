"""Checker of the time between the pods of a Job: the Job controller's own backoff, which no kubelet has a part in."""

from itertools import pairwise
from typing import Any, NamedTuple

from crashloop.checks.evidence import too_few, unwatched
from crashloop.checks.finding import Checked, Finding, fail_unless, inconclusive
from crashloop.checks.jobs import REACTS_WITHIN_S
from crashloop.history.recording import PodHistory
from crashloop.model.job import replacement_s
from crashloop.model.phase import FAILED
from crashloop.restarts.case import Case
from crashloop.words import at_lines, seconds


class _Moment(NamedTuple):
    t_ns: int
    line: int
    reported_ns: int
    """When the recorder knew of it."""


def check_pod_spacing(case: Case) -> Checked:
    """Each pod of a Job MUST come 10 s, 20 s, 40 s and so on after the containers of the failed one before it had finished.

    Needs a Job with min_pods (2) pods, and the watch throughout.
    """
    if case.scenario.job is None:
        return Checked(findings=(inconclusive("no Job makes the pods."),))
    lost = next(unwatched(case, "the beginning or the end of a pod"), None)
    doubt = lost.sentence.rstrip(".") if lost else None
    findings: list[Finding] = []
    spacing: list[dict[str, Any]] = []
    for failures, (before, after) in enumerate(pairwise(case.pods), start=1):
        finished, began = _finished(before), _began(after)
        if finished is None or began is None:
            findings.append(
                inconclusive(f"no status shows when pod {failures} of the Job had finished, or the next began.")
            )
            continue
        due_s, seen_s = replacement_s(failures), (began.t_ns - finished.t_ns) / 1e9
        latest_s = max(due_s, (finished.reported_ns - finished.t_ns) / 1e9) + REACTS_WITHIN_S
        spacing.append({"due_s": due_s, "seen_s": round(seen_s, 3)})
        if not due_s <= seen_s <= latest_s:
            lines = (finished.line, began.line)
            only, shown = ("", seconds(seen_s, unlike=due_s)) if seen_s < due_s else ("only ", seconds(seen_s))
            sentence = f"the Job replaced its failed pod {failures} {only}after {shown} {at_lines(lines)}"
            findings.append(fail_unless(doubt, f"{sentence}; {seconds(due_s)} were due.", *lines))
    if not findings:
        findings += too_few(case, len(case.pods), "min_pods", 2, "pod")
    return Checked(findings=tuple(findings), facts={"spacing": spacing})


def _finished(pod: PodHistory) -> _Moment | None:
    """When the last container of a failed pod finished, in whole seconds below."""
    failed = next((each for each in pod.statuses if each.phase == FAILED), None)
    stamps = [each.state.finished_ns for each in failed.containers.values()] if failed else []
    known = [each for each in stamps if each is not None]
    if failed is None or not known or len(known) < len(stamps):
        return None
    return _Moment(max(known), failed.line, failed.t_ns)


def _began(pod: PodHistory) -> _Moment | None:
    """The first sign of a pod: of the API, which has it before its node, or its sandbox."""
    signs = [_Moment(each.t_ns, each.line, each.t_ns) for each in pod.statuses[:1]]
    facts = [*(each.fact for each in pod.sandboxes[:1]), *((pod.created,) if pod.created else ())]
    signs += [_Moment(each.utc_ns, each.line, each.utc_ns) for each in facts if each.utc_ns is not None]
    return min(signs, key=lambda each: each.t_ns, default=None)
