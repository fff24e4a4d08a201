"""Checks that the node ran with the profile's configuration: a precondition of every verdict, and a requirement of its own."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from crashloop.checks.finding import Checked, Finding, error, fail, inconclusive
from crashloop.checks.judgement import JudgementInput
from crashloop.history.recording import NodeReport, Recording
from crashloop.model.profile_match import agrees
from crashloop.model.variants import REDUCED_DECAY_KEEPS_300S
from crashloop.restarts.case import Case
from crashloop.restarts.restart import restarts
from crashloop.spec.duration import duration_seconds
from crashloop.spec.intervention import RESTART_THE_KUBELET
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import PodScenario
from crashloop.words import at_lines, seconds


def node_objections(scenario: PodScenario, judgement: JudgementInput) -> tuple[Finding, ...]:
    """Why what the node did is not evidence about its profiles; none if it is.

    A kubelet with another configuration than it was to have at that time is an ERROR of this suite. One whose configuration
    could not be read and was not declared, or that was restarted behind our back, leaves open what was tested.
    """
    recording = judgement.recording
    if not recording.nodes:
        return (inconclusive("the node's effective configuration was not recorded, so it is open what was tested."),)
    taken = [each for each in recording.interventions if each.profile in scenario.refused_profiles]
    if taken:
        sentence = f"the kubelet took the configuration {taken[0].profile} {at_lines([taken[0].line])}"
        return (inconclusive(f"{sentence}, which it was to refuse.", taken[0].line),)
    profiles = {each.name: each for each in (*judgement.later, judgement.profile)}
    objections = []
    for each in recording.nodes:
        planned = profiles[recording.reconfigured_to(each.since_ns) or judgement.profile.name]
        matches = _matches(each, planned, judgement)
        whose = (
            "the profile's configuration" if planned is judgement.profile else f'the configuration of "{planned.name}"'
        )
        if matches is False:
            objections.append(error(f"the node did not run with {whose} {at_lines([each.line])}.", each.line))
        elif matches is None:
            objections.append(
                inconclusive(f"the node's effective configuration was not readable {at_lines([each.line])}.", each.line)
            )
    return (*objections, *_restarts_unasked(scenario, recording))


def _matches(report: NodeReport, planned: KubeletProfile, judgement: JudgementInput) -> bool | None:
    """Whether the node ran with the profile that it was to have, by what was read or else declared; None if neither."""
    data = report.data
    compared = data.matches_profile if (data.profile or judgement.profile.name) == planned.name else None
    if compared is None and data.configz is not None:
        return agrees(data.configz, planned, judgement.version)
    return True if compared is None and data.declared else compared


def _restarts_unasked(scenario: PodScenario, recording: Recording) -> tuple[Finding, ...]:
    asked = any(each.action in RESTART_THE_KUBELET for each in scenario.interventions)
    found = []
    for report in recording.nodes:
        if report.data.unread is not None:
            sentence = f"whether the kubelet was restarted meanwhile could not be seen {at_lines([report.line])}"
            found.append(inconclusive(f"{sentence}: {report.data.unread}", report.line))
    for before, after in pairwise(recording.nodes):
        if asked or before.data.unread is not None:
            continue
        lines = (before.line, after.line)
        if _process(before) != _process(after):
            sentence = f"the kubelet was restarted meanwhile {at_lines(lines)}, and with that its counters were lost."
            found.append(inconclusive(sentence, *lines))
        elif before.data.ready_since != after.data.ready_since:
            sentence = (
                f"the node was not Ready for a while {at_lines(lines)}; "
                "if its kubelet was restarted, its counters were lost."
            )
            found.append(inconclusive(sentence, *lines))
    return tuple(found)


def _process(report: NodeReport) -> tuple[int | None, int | None, str | None]:
    return report.data.kubelet_pid, report.data.kubelet_started_ns, report.data.boot_id


def check_effective_config(case: Case) -> Checked:
    """The maximum that the kubelet says it runs with MUST be the profile's, or the default. Needs one /configz of the node.

    That a kubelet deviates by its default needs the maximum at /configz, or a delay that reached it.
    """
    read = [each for each in case.recording.nodes if each.data.configz is not None]
    configured = [case.profile_at(each.since_ns).max_container_restart_period for each in read]
    facts = {"configured": configured[-1] if read else case.profile.max_container_restart_period}
    if not read:
        return Checked(
            findings=(inconclusive("the node's effective configuration was not recorded, 1 reading needed."),)
        )
    if not any(configured) and REDUCED_DECAY_KEEPS_300S not in case.prediction.deviations:
        return Checked(facts=facts)
    findings = []
    for each, period in zip(read, configured, strict=True):
        due_s = case.in_force_at(each.since_ns).curve.maximum_s
        effective = effective_maximum(each.data.configz or {})
        if duration_seconds(effective) != due_s and (period is not None or effective is not None):
            stated = f"the kubelet says it runs with maxContainerRestartPeriod {effective} {at_lines([each.line])}; "
            because = f"{period or 'nothing'} is configured, so {seconds(due_s)} was due."
            findings.append(fail(stated + because, each.line))
    unstated = not any(effective_maximum(each.data.configz or {}) for each in read)
    if not any(configured) and unstated:
        findings += _unreached(case, case.prediction.curve.maximum_s)
    return Checked(findings=tuple(findings), facts=facts)


def _unreached(case: Case, maximum_s: float) -> Iterator[Finding]:
    """A maximum that /configz does not state and that no delay has reached; the lines are those of the delays that were seen."""
    seen = [(each.due.delay_s, each.shortest.lines) for each in restarts(case) if each.shortest is not None]
    if max((delay_s for delay_s, _ in seen), default=0.0) < maximum_s:
        lines = tuple(line for _, both in seen for line in both)
        yield inconclusive(
            f"neither /configz nor a delay shows the maximum of {seconds(maximum_s)}, one needed.", *lines
        )


def effective_maximum(configz: dict[str, Any]) -> Any:
    """`crashLoopBackOff.maxContainerRestartPeriod` of an effective configuration, as the kubelet spells it."""
    config = configz.get("kubeletconfig", configz)
    section = config.get("crashLoopBackOff") if isinstance(config, dict) else None
    return section.get("maxContainerRestartPeriod") if isinstance(section, dict) else None
