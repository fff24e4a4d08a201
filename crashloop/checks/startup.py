"""Checker of a kubelet's start with a candidate configuration: refused, or accepted with the effective maximum."""

import re

import msgspec

from crashloop.checks.effective_config import effective_maximum
from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.history.recording import ProcessEvent, Recording
from crashloop.model.config import Curve, Refusal
from crashloop.spec.duration import duration_seconds
from crashloop.spec.scenario import StartupScenario
from crashloop.words import at_lines, seconds

_CRASH = re.compile(
    r"^(panic: .*|fatal error: .*|goroutine \d+ \[.*|\[signal SIG.*|\s+\S+\.go:\d+ \+0x[0-9a-f]+)$", re.MULTILINE
)
"""What the Go runtime prints when a program crashes; of a long trace the last lines are all there is."""


class StartupCase(msgspec.Struct, frozen=True, kw_only=True):
    """A startup scenario as declared, as predicted and as recorded."""

    scenario: StartupScenario
    prediction: Curve | Refusal
    recording: Recording


def check_startup(case: StartupCase) -> Checked:
    """The kubelet MUST exit non-zero, or become healthy with the maximum due, as the model says of its configuration.

    Needs the process to exit or to answer /healthz; for a refusal also a control start, with a valid configuration in the
    same node, that becomes healthy. Texts are shown, never judged, but for the trace of a crash: a kubelet that crashes has
    refused nothing.
    """
    recording = case.recording
    exited = recording.exited[0] if recording.exited else None
    healthy = recording.healthy[0] if recording.healthy else None
    facts = {
        "exit_code": exited.data.exit_code if exited else None,
        "stderr": exited.data.stderr if exited else "",
        "maxContainerRestartPeriod": effective_maximum((healthy.data.configz if healthy else None) or {}),
    }
    if not recording.started:
        finding: Finding | None = inconclusive("the kubelet was not seen to start, so nothing was tried.")
    elif isinstance(case.prediction, Refusal):
        finding = _refused(case, case.prediction, exited, healthy)
    else:
        finding = _accepted(case, case.prediction, exited, healthy)
    return Checked(findings=(finding,) if finding else (), facts=facts)


def _refused(
    case: StartupCase, refusal: Refusal, exited: ProcessEvent | None, healthy: ProcessEvent | None
) -> Finding | None:
    due = f"it was to refuse its configuration: {refusal.text}"
    if healthy is not None:
        return fail(f"the kubelet became healthy {at_lines([healthy.line])}; {due}.", healthy.line)
    if exited is None:
        return _neither(case, due)
    if exited.data.exit_code is None:
        return inconclusive(f"the kubelet's exit status is unknown {at_lines([exited.line])}; {due}.", exited.line)
    if exited.data.exit_code == 0:
        return fail(
            f"the kubelet exited with 0 {at_lines([exited.line])}; {due}, with a status other than 0.", exited.line
        )
    if exited.data.exit_code < 0:
        signal = -exited.data.exit_code
        return inconclusive(f"signal {signal} ended the kubelet {at_lines([exited.line])}; {due}.", exited.line)
    crash = _CRASH.search(exited.data.stderr)
    if crash is not None and not refusal.panics:
        return fail(f"the kubelet crashed {at_lines([exited.line])}: {crash[0].strip()}; {due}.", exited.line)
    return _uncontrolled(case, exited)


def _uncontrolled(case: StartupCase, exited: ProcessEvent) -> Finding | None:
    """INCONCLUSIVE unless a kubelet with a valid configuration became healthy in the same node.

    Scenarios of earlier runs have no control start; their refusals are judged by themselves.
    """
    recording, control = case.recording, case.scenario.control
    if control is None or recording.control_healthy:
        return None
    seen = f"the kubelet exited with {exited.data.exit_code} {at_lines([exited.line])}, which proves no refusal: "
    if not recording.control_exited:
        return inconclusive(
            f"{seen}no control start with profile {control} became healthy in the same node.", exited.line
        )
    ended = recording.control_exited[0]
    message = ended.data.stderr.strip().rpartition("\n")[2] or "nothing"
    lines = (exited.line, ended.line)
    return inconclusive(
        f"{seen}the control start with profile {control} exited with {ended.data.exit_code} as well "
        f"{at_lines([ended.line])}. It said: {message}",
        *lines,
    )


def _accepted(
    case: StartupCase, curve: Curve, exited: ProcessEvent | None, healthy: ProcessEvent | None
) -> Finding | None:
    due = "it was to accept its configuration"
    if healthy is None:
        if exited is None:
            return _neither(case, due)
        crash = _CRASH.search(exited.data.stderr)
        message = crash[0].strip() if crash else exited.data.stderr.strip().rpartition("\n")[2]
        sentence = f"the kubelet exited with {exited.data.exit_code} {at_lines([exited.line])}; {due}."
        if exited.data.exit_code is None or exited.data.exit_code < 0:
            return inconclusive(sentence, exited.line)
        return fail(f"{sentence} It said: {message}" if message else sentence, exited.line)
    if healthy.data.configz is None:
        return inconclusive(
            f"the kubelet's effective configuration is unknown {at_lines([healthy.line])}.", healthy.line
        )
    stated = effective_maximum(healthy.data.configz)
    if stated is not None and duration_seconds(stated) != curve.maximum_s:
        return fail(
            f"the kubelet says it runs with maxContainerRestartPeriod {stated} {at_lines([healthy.line])}; "
            f"{seconds(curve.maximum_s)} was due.",
            healthy.line,
        )
    return None


def _neither(case: StartupCase, due: str) -> Finding:
    return inconclusive(
        f"the kubelet neither exited nor became healthy within {seconds(case.scenario.at_most_s)}; {due}."
    )
