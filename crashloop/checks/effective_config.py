"""Checks that the node ran with the profile's configuration: a precondition of every verdict, and a requirement of its own."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from crashloop.checks.case import Case
from crashloop.checks.finding import Checked, Finding, error, fail, inconclusive
from crashloop.checks.measured_delay import all_delays
from crashloop.checks.text import at_lines, seconds
from crashloop.history.recording import NodeReport, Recording
from crashloop.model.profile_match import agrees
from crashloop.model.variants import REDUCED_DECAY_KEEPS_300S
from crashloop.spec.duration import duration_seconds
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import InterventionKind, PodScenario
from crashloop.spec.version import KubernetesVersion

_RESTARTS = (InterventionKind.RESTART_KUBELET, InterventionKind.KILL_KUBELET)


def node_objections(
    scenario: PodScenario, profile: KubeletProfile, version: KubernetesVersion, recording: Recording
) -> tuple[Finding, ...]:
    """Why what the node did is not evidence about the profile; none if it is. `version` is the cluster's.

    A kubelet with another configuration is an ERROR of this suite. One whose configuration could not be read and was not
    declared, or that was restarted behind our back, leaves open what was tested.
    """
    if not recording.nodes:
        return (inconclusive("the node's effective configuration was not recorded, so it is open what was tested."),)
    objections = []
    for each in recording.nodes:
        matches = _matches(each, profile, version)
        if matches is False:
            objections.append(
                error(f"the node did not run with the profile's configuration {at_lines([each.line])}.", each.line)
            )
        elif matches is None:
            objections.append(
                inconclusive(f"the node's effective configuration was not readable {at_lines([each.line])}.", each.line)
            )
    return (*objections, *_restarts_unasked(scenario, recording))


def _matches(report: NodeReport, profile: KubeletProfile, version: KubernetesVersion) -> bool | None:
    """Whether the node ran with the profile, by what was read or else declared; None if neither."""
    told = report.data
    if told.matches_profile is None and told.configz is not None:
        return agrees(told.configz, profile, version)
    return True if told.matches_profile is None and told.declared else told.matches_profile


def _restarts_unasked(scenario: PodScenario, recording: Recording) -> tuple[Finding, ...]:
    asked = any(each.action in _RESTARTS for each in scenario.interventions)
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
    configured = case.profile.max_container_restart_period
    read = [each for each in case.recording.nodes if each.data.configz is not None]
    if not read:
        return Checked(
            findings=(inconclusive("the node's effective configuration was not recorded, 1 reading needed."),)
        )
    if configured is None and REDUCED_DECAY_KEEPS_300S not in case.prediction.deviations:
        return Checked(facts={"configured": configured})
    due_s = case.prediction.curve.maximum_s
    findings = []
    for each in read:
        effective = effective_maximum(each.data.configz or {})
        if duration_seconds(effective) != due_s and (configured is not None or effective is not None):
            stated = f"the kubelet says it runs with maxContainerRestartPeriod {effective} {at_lines([each.line])}; "
            because = f"{configured or 'nothing'} is configured, so {seconds(due_s)} was due."
            findings.append(fail(stated + because, each.line))
    unstated = not any(effective_maximum(each.data.configz or {}) for each in read)
    if configured is None and unstated:
        findings += _unreached(case, due_s)
    return Checked(findings=tuple(findings), facts={"configured": configured})


def _unreached(case: Case, maximum_s: float) -> Iterator[Finding]:
    """A maximum that /configz does not state and that no delay has reached; the lines are those of the delays that were seen."""
    seen = [(each.due.delay_s, each.shortest.lines) for each in all_delays(case) if each.shortest is not None]
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
