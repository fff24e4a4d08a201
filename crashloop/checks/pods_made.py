"""Checker of the pods that a Deployment makes when its containers end for good."""

from itertools import pairwise

from crashloop.checks.evidence import unwatched
from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.history.recording import PodHistory
from crashloop.model.phase import FAILED, SUCCEEDED
from crashloop.model.replacement import replaces_at_once
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import why_it_ended
from crashloop.words import at_lines, count, seconds

MOST, WITHIN_S = 3, 30.0
"""A container that runs for 1 s on the default curve has as many starts: the first, a free one, and one after 10 s."""
REPLACED_WITHIN_S = 15.0


def check_pods_made(case: Case) -> Checked:
    """A Deployment of one replica MUST make no more than `most` (3) pods in the `within_s` (30) after the first.

    By the model that replaces an ended pod at once, each MUST be replaced within 15 s, by one pod. Needs a watch that long.
    """
    within_s, most = case.number("within_s", WITHIN_S), int(case.number("most", MOST))
    first_ns = _began_ns(case.pods[0])
    made = [each for each in case.pods if _began_ns(each) <= first_ns + within_s * 1e9]
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
        next_ns = case.recording.end_ns if after is None else _began_ns(after)
        appeared = after.statuses[0] if after is not None and after.statuses else None
        if appeared is not None and (ended is None or ended.line > appeared.line):
            line = appeared.line
            return [fail(f"the Deployment made a pod {at_lines([line])} while the one before it had not ended.", line)]
        if ended is not None and (waited_s := (next_ns - ended.t_ns) / 1e9) > REPLACED_WITHIN_S:
            sentence = f"a pod that had ended {at_lines([ended.line])} was not replaced for {seconds(waited_s)}"
            return [fail(f"{sentence}; it was to be replaced at once.", ended.line)]
    return []


def _began_ns(pod: PodHistory) -> int:
    """The first sign of a pod: of the API, or its sandbox."""
    signs = [each.t_ns for each in pod.statuses[:1]] + [each.fact.utc_ns or 0 for each in pod.sandboxes[:1]]
    return min((each for each in signs if each), default=0)
