"""Checkers of the kubelet's configuration: what it ran with, as a precondition and as a requirement, and what it refuses."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec

from crashloop.checks.checker import Holds, Need, Seen, checker
from crashloop.checks.finding import Finding, error, fail, inconclusive
from crashloop.checks.judgement import JudgementInput
from crashloop.history.recording import NodeReport, ProcessEvent, Recording
from crashloop.model.config import Curve, Refusal, agrees
from crashloop.model.variants import REDUCED_DECAY_KEEPS_300S
from crashloop.restarts.case import Case
from crashloop.restarts.restart import restarts
from crashloop.spec.duration import duration_seconds
from crashloop.spec.intervention import RESTART_THE_KUBELET
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import PodScenario, StartupScenario
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


@checker(
    "effective-config",
    Need("readings", 1, "reading", "of /configz", is_shown=False),
    "the maximum at /configz, or a delay that reached it, where the kubelet deviates by its default",
)
def check_effective_config(case: Case, seen: Seen) -> Iterator[Finding]:
    """The maximum that the kubelet says it runs with MUST be the profile's, or the default."""
    read = [each for each in case.recording.nodes if each.data.configz is not None]
    configured = [case.profile_at(each.since_ns).max_container_restart_period for each in read]
    seen["readings"] += len(read)
    seen.facts["configured"] = configured[-1] if read else case.profile.max_container_restart_period
    if not any(configured) and REDUCED_DECAY_KEEPS_300S not in case.prediction.deviations:
        return
    stated = [effective_maximum(each.data.configz or {}) for each in read]
    for each, period, effective in zip(read, configured, stated, strict=True):
        due_s = case.in_force_at(each.since_ns).curve.maximum_s
        if duration_seconds(effective) != due_s and (period is not None or effective is not None):
            says = f"the kubelet says it runs with maxContainerRestartPeriod {effective} {at_lines([each.line])}; "
            because = f"{period or 'nothing'} is configured, so {seconds(due_s)} was due."
            yield fail(says + because, each.line)
    if read and not any(configured) and not any(stated):
        yield from _unreached(case, case.prediction.curve.maximum_s)


def _unreached(case: Case, maximum_s: float) -> Iterator[Finding]:
    """A maximum that /configz does not state and that no delay has reached; the lines are those of the delays that were seen."""
    taken = [(each.due.delay_s, each.shortest.lines) for each in restarts(case) if each.shortest is not None]
    if max((delay_s for delay_s, _ in taken), default=0.0) < maximum_s:
        lines = tuple(line for _, both in taken for line in both)
        yield inconclusive(
            f"neither /configz nor a delay shows the maximum of {seconds(maximum_s)}, one needed.", *lines
        )


def effective_maximum(configz: dict[str, Any]) -> Any:
    """`crashLoopBackOff.maxContainerRestartPeriod` of an effective configuration, as the kubelet spells it."""
    config = configz.get("kubeletconfig", configz)
    section = config.get("crashLoopBackOff") if isinstance(config, dict) else None
    return section.get("maxContainerRestartPeriod") if isinstance(section, dict) else None


_CRASH = re.compile(
    r"^(panic: .*|fatal error: .*|goroutine \d+ \[.*|\[signal SIG.*|\s+\S+\.go:\d+ \+0x[0-9a-f]+)$", re.MULTILINE
)
"""What the Go runtime prints when a program crashes; of a long trace the last lines are all there is."""


class StartupCase(msgspec.Struct, frozen=True, kw_only=True):
    """A startup scenario as declared, as predicted and as recorded."""

    scenario: StartupScenario
    prediction: Curve | Refusal
    recording: Recording


@checker(
    "startup",
    "the process exits or answers /healthz",
    "for a refusal, a control start with a valid configuration in the same node, that becomes healthy",
    reads=StartupScenario,
    holds=Holds.DECLARED,
)
def check_startup(case: StartupCase, seen: Seen) -> Iterator[Finding]:
    """The kubelet MUST exit non-zero, or become healthy with the maximum due, as the model says of its configuration.

    Texts are shown, not judged, with two exceptions. A kubelet that crashes has refused nothing. Where a panic is due, or a
    refusal that no text promises, it has to name its cause.
    """
    recording = case.recording
    exited = recording.exited[0] if recording.exited else None
    healthy = recording.healthy[0] if recording.healthy else None
    seen.facts |= {
        "exit_code": exited.data.exit_code if exited else None,
        "stderr": exited.data.stderr if exited else "",
        "maxContainerRestartPeriod": effective_maximum((healthy.data.configz if healthy else None) or {}),
    }
    if not recording.started:
        yield inconclusive("the kubelet was not seen to start, so nothing was tried.")
    elif isinstance(case.prediction, Refusal):
        yield from _owed_refusal(case, case.prediction, exited, healthy)
    else:
        yield from _owed_start(case, case.prediction, exited, healthy)


_WARNS = re.compile(r'^W\d{4} |"level":\s*"?warn|\bwarning\b', re.IGNORECASE)
_OF_THE_MAXIMUM = re.compile(r"maxContainerRestartPeriod|crashLoopBackOff|KubeletCrashLoopBackOffMax", re.IGNORECASE)


@checker("start-warning", "the output of a kubelet that becomes healthy", reads=StartupScenario, holds=Holds.DECLARED)
def check_start_warning(case: StartupCase, seen: Seen) -> Iterator[Finding]:
    """A kubelet that starts and ignores a configured maximum MUST warn of it; of one that does not start nothing is said."""
    for healthy in case.recording.healthy[:1]:
        lines = [each for each in healthy.data.stderr.splitlines() if _OF_THE_MAXIMUM.search(each)]
        seen.facts["said_of_the_maximum"] = lines
        if not any(map(_WARNS.search, lines)):
            said = f"the kubelet became healthy {at_lines([healthy.line])} and warned of no maximum that it ignores"
            yield fail(f"{said}; it was to warn.", healthy.line)


def _owed_refusal(
    case: StartupCase, refusal: Refusal, exited: ProcessEvent | None, healthy: ProcessEvent | None
) -> Iterator[Finding]:
    due = f"it was to refuse its configuration: {refusal.text}"
    if healthy is not None:
        yield fail(f"the kubelet became healthy {at_lines([healthy.line])}; {due}.", healthy.line)
        return
    if exited is None:
        yield _neither_came(case, due)
        return
    code, where = exited.data.exit_code, at_lines([exited.line])
    crash = _CRASH.search(exited.data.stderr)
    if code is None:
        yield inconclusive(f"the kubelet's exit status is unknown {where}; {due}.", exited.line)
    elif code == 0:
        yield fail(f"the kubelet exited with 0 {where}; {due}, with a status other than 0.", exited.line)
    elif code < 0:
        yield inconclusive(f"signal {-code} ended the kubelet {where}; {due}.", exited.line)
    elif crash is not None and not refusal.panics:
        yield fail(f"the kubelet crashed {where}: {crash[0].strip()}; {due}.", exited.line)
    elif missing := [each for each in refusal.names if each not in exited.data.stderr]:
        says = f"the kubelet exited with {code} {where} and does not say {missing[0]!r}; {due}."
        # Of a long trace only the end is kept: the words may have stood before it.
        is_cut = not exited.data.stderr or (refusal.panics and "panic: " not in exited.data.stderr)
        yield inconclusive(says, exited.line) if is_cut else fail(says, exited.line)
    else:
        yield from _uncontrolled(case, exited)


def _uncontrolled(case: StartupCase, exited: ProcessEvent) -> Iterator[Finding]:
    """INCONCLUSIVE unless a kubelet with a valid configuration became healthy in the same node.

    Scenarios of earlier runs have no control start; their refusals are judged by themselves.
    """
    recording, control = case.recording, case.scenario.control
    if control is None or recording.control_healthy:
        return
    refused = f"the kubelet exited with {exited.data.exit_code} {at_lines([exited.line])}, which proves no refusal: "
    if recording.control_exited:
        ended = recording.control_exited[0]
        sentence = (
            f"{refused}the control start with profile {control} exited with {ended.data.exit_code} as well "
            f"{at_lines([ended.line])}. It said: {_last_line(ended) or 'nothing'}"
        )
        yield inconclusive(sentence, exited.line, ended.line)
    else:
        sentence = f"{refused}no control start with profile {control} became healthy in the same node."
        yield inconclusive(sentence, exited.line)


def _owed_start(
    case: StartupCase, curve: Curve, exited: ProcessEvent | None, healthy: ProcessEvent | None
) -> Iterator[Finding]:
    due = "it was to accept its configuration"
    if healthy is not None:
        yield from _other_maximum(healthy, curve)
    elif exited is None:
        yield _neither_came(case, due)
    else:
        crash = _CRASH.search(exited.data.stderr)
        message = crash[0].strip() if crash else _last_line(exited)
        sentence = f"the kubelet exited with {exited.data.exit_code} {at_lines([exited.line])}; {due}."
        if exited.data.exit_code is None or exited.data.exit_code < 0:
            yield inconclusive(sentence, exited.line)
        else:
            yield fail(f"{sentence} It said: {message}" if message else sentence, exited.line)


def _other_maximum(healthy: ProcessEvent, curve: Curve) -> Iterator[Finding]:
    where = at_lines([healthy.line])
    if healthy.data.configz is None:
        yield inconclusive(f"the kubelet's effective configuration is unknown {where}.", healthy.line)
        return
    stated = effective_maximum(healthy.data.configz)
    if stated is not None and duration_seconds(stated) != curve.maximum_s:
        says = f"the kubelet says it runs with maxContainerRestartPeriod {stated} {where}"
        yield fail(f"{says}; {seconds(curve.maximum_s)} was due.", healthy.line)


def _last_line(ended: ProcessEvent) -> str:
    return ended.data.stderr.strip().rpartition("\n")[2]


def _neither_came(case: StartupCase, due: str) -> Finding:
    return inconclusive(
        f"the kubelet neither exited nor became healthy within {seconds(case.scenario.at_most_s)}; {due}."
    )
