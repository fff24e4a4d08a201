"""Checker of what a scenario does to its control plane: without it, nothing was tried."""

from crashloop.checks.finding import Checked, inconclusive
from crashloop.restarts.case import Case
from crashloop.spec.intervention import NEED_OWN_CONTROL_PLANE
from crashloop.words import at_lines


def check_outages_as_planned(case: Case) -> Checked:
    """Components of the control plane MUST stop and start, and nodes be cut off and connected, as planned. Needs each of them."""
    done = {each.data.index: each for each in case.recording.interventions if each.data.index is not None}
    findings = []
    for index, each in enumerate(case.scenario.interventions):
        if each.action not in NEED_OWN_CONTROL_PLANE:
            continue
        what, was = " ".join((each.action, *filter(None, [each.arguments.get("component")]))), done.get(index)
        if was is None:
            findings.append(inconclusive(f"{what} was not carried out."))
        elif not was.ok:
            sentence = f"{what} has failed {at_lines([was.line])}: {was.data.outcome}"
            findings.append(inconclusive(sentence, was.line))
    return Checked(findings=tuple(findings))
