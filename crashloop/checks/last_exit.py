"""What the status says about an instance that has ended, against that instance."""

from collections.abc import Iterator

from crashloop.checks.case import Case
from crashloop.checks.evidence import why_it_ended
from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.checks.words import at_lines, seconds
from crashloop.history.facts import Fact
from crashloop.history.instances import Instance
from crashloop.history.statuses import ContainerState, StatusReport

REPORTED_NS = 2_000_000_000
"""Reported times are whole seconds, rounded down, and taken by the runtime a moment after its event."""


def check_last_exit(case: Case) -> Checked:
    """The status MUST show the exit of the instance before: its exit code and its times.

    Needs one status that shows the last exit beside a newer instance.
    """
    findings: list[Finding] = []
    shown = 0
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            instances = {each.container_id: each for each in pod.instances(spec.name) if each.container_id}
            for status in pod.statuses:
                report = status.containers.get(spec.name)
                if report is None:
                    continue
                for state in (report.state, report.last_state):
                    instance = instances.get(state.container_id) if state and state.kind == "terminated" else None
                    if state is not None and instance is not None:
                        findings += _contradicts(case, spec.name, status, state, instance)
                present = instances.get(report.container_id)
                if present is None or present.ordinal == 0 or report.state.kind != "running":
                    continue
                shown += 1
                if report.last_state is None:
                    sentence = f'a status of "{spec.name}" {at_lines([status.line])} shows no last exit; '
                    findings.append(
                        fail(f"{sentence}restart {present.ordinal} was running.", status.line, *present.lines[:1])
                    )
    if not findings and not shown:
        findings.append(inconclusive(f"no status with a last exit was seen, 1 needed: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings[:1]), facts={"last_exits_shown": shown})


def _contradicts(
    case: Case, name: str, status: StatusReport, state: ContainerState, instance: Instance
) -> Iterator[Finding]:
    if instance.exit is None:
        yield (
            fail(
                f'a status says that instance {instance.ordinal} of "{name}" has ended {at_lines([status.line])}; '
                "it had not exited.",
                status.line,
            )
            if case.recording.cut_off is None
            else inconclusive(
                f'a status says that instance {instance.ordinal} of "{name}" has ended {at_lines([status.line])}; '
                "the recording stops before its exit.",
                status.line,
            )
        )
        return
    lines = (status.line, instance.exit.line)
    if instance.exit_code is not None and state.exit_code != instance.exit_code:
        yield fail(
            f'a status says exit code {state.exit_code} of instance {instance.ordinal} of "{name}" {at_lines(lines)}; '
            f"it exited with {instance.exit_code}.",
            *lines,
        )
    for what, reported_ns, truth in (
        ("finishedAt", state.finished_ns, instance.exited),
        ("startedAt", state.started_ns, instance.started),
    ):
        if reported_ns is None or truth is None or truth.utc_ns is None:
            continue
        yield from _time_contradicts(case, name, what, status, reported_ns, truth, instance)


def _time_contradicts(
    case: Case, name: str, what: str, status: StatusReport, reported_ns: int, truth: Fact, instance: Instance
) -> Iterator[Finding]:
    off_ns = reported_ns - (truth.utc_ns or 0)
    if abs(off_ns) <= REPORTED_NS:
        return
    lines = (status.line, truth.line)
    sentence = (
        f'a status says {what} of instance {instance.ordinal} of "{name}" {seconds(abs(off_ns) / 1e9)} '
        f"{'after' if off_ns > 0 else 'before'} the runtime's time {at_lines(lines)}."
    )
    around = (truth.utc_ns or 0) - REPORTED_NS, (truth.utc_ns or 0) + abs(off_ns)
    if case.recording.host.stalled_s(*around) * 1e9 >= abs(off_ns):
        yield inconclusive(f"{sentence} The host was stalled meanwhile.", *lines)
    else:
        yield fail(sentence, *lines)
