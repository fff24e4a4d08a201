"""Checker of what a scenario does to the kubelet of its node: without it, nothing was tried."""

from collections.abc import Iterator

from crashloop.checks.finding import Checked, Finding, inconclusive
from crashloop.history.recording import Done
from crashloop.restarts.case import Case
from crashloop.spec.intervention import RESTART_THE_KUBELET, Intervention
from crashloop.words import at_lines


def check_kubelet_restarts(case: Case) -> Checked:
    """The kubelet MUST be restarted as planned, and refuse the profiles that it is to refuse.

    Needs each planned restart: an answer of the new process, or the last words of the one that has refused its configuration.
    """
    done = {each.data.index: each for each in case.recording.interventions if each.data.index is not None}
    planned = [
        (each, done.get(index))
        for index, each in enumerate(case.scenario.interventions)
        if each.action in RESTART_THE_KUBELET
    ]
    refusals = [each.data.outcome for _, each in planned if each is not None and each.refused]
    findings = tuple(finding for each, was in planned for finding in _missing(case, each, was))
    return Checked(findings=findings, facts={"refusals": refusals})


def _missing(case: Case, planned: Intervention, done: Done | None) -> Iterator[Finding]:
    how = "the restart of the kubelet" if planned.profile is None else f"the restart with profile {planned.profile}"
    if done is None:
        yield inconclusive(f"{how} was not carried out.")
    elif not (done.refused if planned.refused else done.ok):
        yield inconclusive(f"{how} has failed {at_lines([done.line])}: {done.data.outcome}", done.line)
    elif not planned.refused and not any(each.since_ns >= done.t_ns for each in case.recording.nodes):
        yield inconclusive(f"after {how} {at_lines([done.line])} no kubelet answered.", done.line)
