"""Checkers of what comes before the first start: the scheduler places the pod, and the kubelet takes it.

Theory of operation. A rejected pod is Failed by a status that gives a reason, though nothing of it ever ran. The condition
PodScheduled is what the scheduler states: True with the binding, False once it has found no node.
"""

from crashloop.checks.evidence import unwatched
from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.history.statuses import StatusReport
from crashloop.model.admission import Admission
from crashloop.model.phase import FAILED, PENDING
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import DEADLINE_EXCEEDED, ENDED_BY_NODE, why_it_ended
from crashloop.words import at_lines, seconds

_NO_ROOM = ("OutOf", "Insufficient")
"""How the reasons of a node without room begin: pkg/kubelet/lifecycle/predicate.go@v1.37.1."""
LEFT_FOR_S = 20.0
"""How long a pod is left Pending to say that it is not placed. A scheduler tries a pod again after 10 s at the latest."""


def check_admitted(case: Case) -> Checked:
    """The kubelet MUST run the pod that is bound to its node, and fail it only if the model says so.

    Needs a start of one of its containers, or its rejection where that is due.
    """
    due = case.prediction.admission
    rejected, began = _rejected(case.pod), _began(case.pod)
    lines = tuple(each.line for each in (rejected, began) if each is not None)
    findings: list[Finding] = []
    if rejected is not None and due is not Admission.REJECTED:
        sentence = f"the kubelet rejected the pod, reason {rejected.reason} {at_lines(lines)}; it was to run it."
        doubt = "Its node had no room for it" if rejected.reason.startswith(_NO_ROOM) else None
        findings.append(fail_unless(doubt, sentence, *lines))
    elif began is not None and due is Admission.REJECTED:
        findings.append(fail(f"the kubelet started the pod {at_lines(lines)}; it was to reject it.", *lines))
    elif not lines:
        findings.append(inconclusive(f"the pod was neither started nor rejected: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts={"rejected": rejected.reason if rejected else None})


def check_placement(case: Case) -> Checked:
    """The scheduler MUST bind the pod to its node, or leave it Pending if that node does not declare what the pod needs.

    Needs the condition PodScheduled, or a status of the kubelet; that a pod is left Pending is watched for min_pending_s (20).
    """
    bound = next((each for each in case.pod.statuses if each.scheduled or each.phase not in ("", PENDING)), None)
    held = next((each for each in case.pod.statuses if each.scheduled is False), None)
    pending_s = 0.0 if held is None else ((bound.t_ns if bound else case.recording.end_ns) - held.t_ns) / 1e9
    needed_s = case.number("min_pending_s", LEFT_FOR_S)
    findings: list[Finding] = []
    if case.prediction.admission is Admission.UNPLACED:
        if bound is not None:
            sentence = f"the scheduler bound the pod to its node {at_lines([bound.line])}; it was to leave it Pending, "
            findings.append(fail(f"{sentence}for the node does not declare what it needs.", bound.line))
        elif held is None:
            findings.append(inconclusive(f"no status says that the scheduler found no node: {why_it_ended(case)}."))
        elif pending_s < needed_s:
            watched = f"left Pending for {seconds(pending_s)}, {seconds(needed_s)} needed"
            findings.append(inconclusive(f"the pod was {watched}: {why_it_ended(case)}.", held.line))
        else:
            findings += unwatched(case, "its binding")
    elif bound is None and held is not None and pending_s >= needed_s:
        sentence = f"the scheduler left the pod Pending for {seconds(pending_s)} {at_lines([held.line])}"
        findings.append(fail(f"{sentence}; its node declares what it needs.", held.line))
    elif bound is None:
        findings.append(inconclusive(f"no status says that the scheduler bound the pod: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts={"pending_s": round(pending_s, 3)})


def _rejected(pod: PodHistory) -> StatusReport | None:
    """The status by which the kubelet rejected the pod; None if it did not."""
    later = {"", DEADLINE_EXCEEDED, *ENDED_BY_NODE}
    failed = (each for each in pod.statuses if each.phase == FAILED and each.reason not in later)
    return next(failed, None) if _began(pod) is None else None


def _began(pod: PodHistory) -> Fact | None:
    """The first start of a container."""
    begun = (each.begun for instances in pod.containers.values() for each in instances)
    return min((each for each in begun if each is not None), key=lambda each: each.line, default=None)
