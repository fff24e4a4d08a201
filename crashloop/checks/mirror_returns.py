"""Checker of mirror pods: one that somebody deletes comes back, and shows its static pod again."""

from collections.abc import Iterator

from crashloop.checks.finding import Checked, Finding, fail_unless, inconclusive
from crashloop.history.recording import MirrorEvent, PodHistory
from crashloop.model.admission import Admission
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import lost_watch, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.spec.intervention import InterventionKind
from crashloop.words import at_lines, seconds

LATEST_S = 30.0
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
    for pod, gone in _deleted(case):
        back = next((each for each in pod.mirrors if each.phase == "created" and each.fact.line > gone.fact.line), None)
        stated = None if back is None else _stated_ns(pod, back)
        findings += _judged(case, gone, back, stated)
        if stated is not None:
            took.append(round((stated - (gone.fact.utc_ns or stated)) / 1e9, 3))
    if not findings and not took:
        findings.append(inconclusive(f"no deletion of a mirror pod was seen: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts={"mirror_back_s": took})


def _deleted(case: Case) -> Iterator[tuple[PodHistory, MirrorEvent]]:
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


def _judged(case: Case, gone: MirrorEvent, back: MirrorEvent | None, stated_ns: int | None) -> Iterator[Finding]:
    from_ns, to_ns = gone.fact.utc_ns or case.recording.end_ns, stated_ns or case.recording.end_ns
    after_s = (to_ns - from_ns) / 1e9
    lines = (gone.fact.line, *((back.fact.line,) if back else ()))
    if after_s <= LATEST_S:
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
        excuse(case, (from_ns, to_ns), 0.0, after_s - LATEST_S)
        if lost is None
        else f"The watch was lost meanwhile (history line {lost.line})"
    )
    yield fail_unless(doubt, f"{said} {at_lines(lines)}; {seconds(LATEST_S)} is the longest.", *lines)
