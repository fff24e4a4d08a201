"""Checkers of the pods that others than a kubelet make: mirror pods that return, and the pods of a Job or a Deployment."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from crashloop.checks.evidence import too_few, unwatched
from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.checks.job_ends import REACTS_WITHIN_S
from crashloop.history.recording import MirrorEvent, PodHistory
from crashloop.model.admission import Admission
from crashloop.model.job import replacement_s
from crashloop.model.phase import FAILED, SUCCEEDED
from crashloop.model.replacement import replaces_at_once
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import lost_watch, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.spec.intervention import InterventionKind
from crashloop.words import at_lines, count, seconds

MIRROR_WITHIN_S = 30.0
"""No text names a number. The deletion itself makes the kubelet sync the pod; where that sync is lost, it looks again 10 s to
16 s later, and this leaves room for a second look (pkg/kubelet/kubelet.go@v1.37.1 tryReconcileMirrorPods)."""


def check_mirror_returns(case: Case) -> Checked:
    """A mirror pod that is deleted MUST be created again, and state the containers of its static pod.

    Needs a pod that the kubelet takes, a deletion of its mirror pod by the scenario, and its return.
    """
    if case.prediction.admission is not Admission.RUNS:
        return Checked(
            findings=(inconclusive("the kubelet runs no such pod, so its mirror pod has nothing to state."),)
        )
    findings: list[Finding] = []
    took: list[float] = []
    for pod, gone in _deleted_mirrors(case):
        back = next((each for each in pod.mirrors if each.phase == "created" and each.fact.line > gone.fact.line), None)
        stated = None if back is None else _stated_ns(pod, back)
        findings += _mirror_back(case, gone, back, stated)
        if stated is not None:
            took.append(round((stated - (gone.fact.utc_ns or stated)) / 1e9, 3))
    if not findings and not took:
        findings.append(inconclusive(f"no deletion of a mirror pod was seen: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts={"mirror_back_s": took})


def _deleted_mirrors(case: Case) -> Iterator[tuple[PodHistory, MirrorEvent]]:
    """The mirror pods that the scenario deleted, as the watch showed it."""
    asked = [each for each in case.recording.interventions if each.data.action == InterventionKind.DELETE_MIRROR_POD]
    for pod in case.pods:
        for gone in (each for each in pod.mirrors if each.phase == "deleted"):
            known = {each.mirror_uid for each in pod.mirrors if each.phase == "created"}
            if gone.mirror_uid in known and any(each.ok and each.t_ns <= (gone.fact.utc_ns or 0) for each in asked):
                yield pod, gone


def _stated_ns(pod: PodHistory, back: MirrorEvent) -> int | None:
    """When a status with containers was first seen of a mirror pod that has come back."""
    shown = (each for each in pod.statuses if each.line > back.fact.line and each.containers)
    return next((each.t_ns for each in shown), None)


def _mirror_back(case: Case, gone: MirrorEvent, back: MirrorEvent | None, stated_ns: int | None) -> Iterator[Finding]:
    from_ns, to_ns = gone.fact.utc_ns or case.recording.end_ns, stated_ns or case.recording.end_ns
    after_s = (to_ns - from_ns) / 1e9
    lines = (gone.fact.line, *((back.fact.line,) if back else ()))
    if after_s <= MIRROR_WITHIN_S:
        if stated_ns is None:
            sentence = f"the mirror pod was not seen again {at_lines(lines)}, and {seconds(after_s)} were watched"
            yield inconclusive(f"{sentence}: {why_it_ended(case)}.", *lines)
        return
    if back is None:
        said = f"the mirror pod was not created again within {seconds(after_s)} of its deletion"
    elif stated_ns is None:
        said = f"the mirror pod that was created again stated no container within {seconds(after_s)} of its deletion"
    else:
        said = f"the mirror pod stated its containers only {seconds(after_s)} after its deletion"
    lost = lost_watch(case, from_ns, to_ns)
    doubt = (
        excuse(case, (from_ns, to_ns), 0.0, after_s - MIRROR_WITHIN_S)
        if lost is None
        else f"The watch was lost meanwhile (history line {lost.line})"
    )
    yield fail_unless(doubt, f"{said} {at_lines(lines)}; {seconds(MIRROR_WITHIN_S)} is the longest.", *lines)


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
        finished, began = _finished(before), _first_sign(after)
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


def _first_sign(pod: PodHistory) -> _Moment | None:
    """The first sign of a pod: of the API, which has it before its node, or its sandbox."""
    signs = [_Moment(each.t_ns, each.line, each.t_ns) for each in pod.statuses[:1]]
    facts = [*(each.fact for each in pod.sandboxes[:1]), *((pod.created,) if pod.created else ())]
    signs += [_Moment(each.utc_ns, each.line, each.utc_ns) for each in facts if each.utc_ns is not None]
    return min(signs, key=lambda each: each.t_ns, default=None)


MOST, WITHIN_S = 3, 30.0
"""A container that runs for 1 s on the default curve has as many starts: the first, a free one, and one after 10 s."""
REPLACED_WITHIN_S = 15.0


def check_pods_made(case: Case) -> Checked:
    """A Deployment of one replica MUST make no more than `most` (3) pods in the `within_s` (30) after the first.

    By the model that replaces an ended pod at once, each MUST be replaced within 15 s, by one pod. Needs a watch that long.
    """
    within_s, most = case.number("within_s", WITHIN_S), int(case.number("most", MOST))
    first_ns = _first_sign_ns(case.pods[0])
    made = [each for each in case.pods if _first_sign_ns(each) <= first_ns + within_s * 1e9]
    seen_s = (case.recording.end_ns - first_ns) / 1e9
    findings: list[Finding] = []
    if replaces_at_once(case.prediction.deviations):
        findings += _not_replaced(case)
    elif len(made) > most:
        lines = [each.statuses[0].line for each in made if each.statuses]
        sentence = f"the Deployment made {count(len(made), 'pod')} within {seconds(within_s)} {at_lines(lines[-1:])}"
        findings.append(fail(f"{sentence}; a container would have been started {most} times.", *lines))
    if not findings and seen_s < within_s:
        findings.append(inconclusive(f"the pods were watched for {seconds(seen_s)}: {why_it_ended(case)}."))
    if not findings:
        findings += unwatched(case, "a pod")
    return Checked(findings=tuple(findings), facts={"pods": len(made), "within_s": within_s})


def _not_replaced(case: Case) -> list[Finding]:
    """Pods that were not replaced one by one as soon as they had ended."""
    for before, after in pairwise((*case.pods, None)):
        assert before is not None
        ended = next((each for each in before.statuses if each.phase in (SUCCEEDED, FAILED)), None)
        next_ns = case.recording.end_ns if after is None else _first_sign_ns(after)
        appeared = after.statuses[0] if after is not None and after.statuses else None
        if appeared is not None and (ended is None or ended.line > appeared.line):
            line = appeared.line
            return [fail(f"the Deployment made a pod {at_lines([line])} while the one before it had not ended.", line)]
        if ended is not None and (waited_s := (next_ns - ended.t_ns) / 1e9) > REPLACED_WITHIN_S:
            sentence = f"a pod that had ended {at_lines([ended.line])} was not replaced for {seconds(waited_s)}"
            return [fail(f"{sentence}; it was to be replaced at once.", ended.line)]
    return []


def _first_sign_ns(pod: PodHistory) -> int:
    """The first sign of a pod: of the API, or its sandbox."""
    signs = [each.t_ns for each in pod.statuses[:1]] + [each.fact.utc_ns or 0 for each in pod.sandboxes[:1]]
    return min((each for each in signs if each), default=0)
