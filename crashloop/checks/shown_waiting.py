"""Checkers of what a status shows of a delay: reason, message and order. Upstream may reword it, so it is only reported.

Theory of operation. A sync writes the status before it decides about starts, so CrashLoopBackOff shows one sync after the exit:
at once where the pod is looked at every second, and else about when the delay is over (crashloop.model.waiting_reason).
"""

import re
from collections.abc import Iterator
from itertools import groupby

import msgspec

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.history.event import Channel
from crashloop.history.statuses import ContainerState, StatusReport
from crashloop.model.waiting_reason import WAITING_REASON, shows_by_s
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import why_it_ended
from crashloop.restarts.restart import Restart, restarts
from crashloop.spec.duration import NotADuration, parse_duration_ns
from crashloop.words import at_lines, seconds

MIN_DELAYS = 3
ON_ITS_WAY_NS = 1_000_000_000
"""A status of the sync that starts a container may arrive after the start."""
_MESSAGE = re.compile(r"back-off (\S+) restarting failed container")


class Shown(msgspec.Struct, frozen=True):
    """A status that says that a container waits for its delay."""

    status: StatusReport
    state: ContainerState
    after_s: float
    """Since the exit."""


def check_shown_waiting(case: Case) -> Checked:
    """CrashLoopBackOff MUST be shown during each delay that lasts until it can show, and MUST NOT be before a free restart.

    Needs min_delays (3) delays during which it can show.
    """
    findings: list[Finding] = []
    rows: list[dict[str, float | None]] = []
    due = 0
    for delay in _over(case):
        shown = next(_shown(delay), None)
        latest_s = _shows_by_s(case, delay)
        shown_s = None if shown is None else shown.after_s
        rows.append({"restart": delay.due.restart, "due_s": delay.due.delay_s, "shown_s": shown_s})
        if latest_s is None and shown is not None and delay.due.delay_s == 0:
            findings.append(fail(f"{delay.name} was free, and {WAITING_REASON} was shown.", shown.status.line))
        if latest_s is None or delay.to_create is None or delay.to_create.seconds < latest_s:
            continue
        due += 1
        if shown is None and not _watched(case, delay):
            findings.append(inconclusive(f"the watch was lost before {delay.name}."))
        elif shown is None:
            lines = delay.to_create.lines
            findings.append(fail(f"no status showed {WAITING_REASON} before {delay.name} {at_lines(lines)}.", *lines))
    if not findings:
        findings += too_few(case, due, "min_delays", MIN_DELAYS, "delay", "that can show")
    return Checked(findings=tuple(findings), facts={"shown": rows})


def check_back_off_message(case: Case) -> Checked:
    """The message of a waiting container MUST name the delay that is due. Needs min_delays (3) delays with a message."""
    findings: list[Finding] = []
    messages: dict[str, str] = {}
    seen = 0
    for delay in _over(case):
        shown = next(_shown(delay), None)
        if shown is None:
            continue
        seen += 1
        messages[delay.name] = shown.state.message
        named_s = _named_s(shown.state.message)
        if named_s != delay.due.delay_s:
            said = "no delay" if named_s is None else seconds(named_s)
            findings.append(
                fail(
                    f"before {delay.name} a status named {said} {at_lines([shown.status.line])}; "
                    f"{seconds(delay.due.delay_s)} was due.",
                    shown.status.line,
                )
            )
    if not findings:
        findings += too_few(case, seen, "min_delays", MIN_DELAYS, "delay", "that can show")
    return Checked(findings=tuple(findings), facts={"messages": messages})


def check_status_sequence(case: Case) -> Checked:
    """The states of each container MUST be shown in the order of the parameter `sequence`, other statuses apart.

    Needs the whole sequence, which begins with the first state that is shown.
    """
    wanted = [str(each) for each in case.parameters.get("sequence", ())]
    findings: list[Finding] = []
    facts: dict[str, list[str]] = {}
    for spec in case.scenario.pod.containers:
        labelled = [
            (_label(each.containers[spec.name].state), each.line)
            for each in case.pod.statuses
            if spec.name in each.containers
        ]
        steps = [next(group) for _, group in groupby(labelled, key=lambda each: each[0])]
        shown = [step for step in steps if step[0] in wanted]
        facts[spec.name] = [label for label, _ in steps]
        wrong = next((n for n, (label, _) in enumerate(shown[: len(wanted)]) if label != wanted[n]), None)
        if wrong is not None:
            label, line = shown[wrong]
            findings.append(
                fail(f'"{spec.name}" was shown as {label} {at_lines([line])}; {wanted[wrong]} was next.', line)
            )
        elif len(shown) < len(wanted) or not wanted:
            findings.append(
                inconclusive(f'{len(shown)} of {len(wanted)} states of "{spec.name}" were shown: {why_it_ended(case)}.')
            )
    return Checked(findings=tuple(findings), facts={"states": facts})


def _over(case: Case) -> Iterator[Restart]:
    return (each for each in restarts(case) if each.next is not None and each.window_ns is not None)


def _shown(delay: Restart) -> Iterator[Shown]:
    """Statuses with the waiting reason from the exit to the next start."""
    if delay.window_ns is None:
        return
    from_ns, to_ns = delay.window_ns
    for status in delay.pod.statuses:
        report = status.containers.get(delay.container)
        if (
            report is not None
            and report.state.kind == "waiting"
            and report.state.reason == WAITING_REASON
            and from_ns <= status.t_ns <= to_ns + ON_ITS_WAY_NS
        ):
            yield Shown(status, report.state, round((status.t_ns - from_ns) / 1e9, 3))


def _watched(case: Case, delay: Restart) -> bool:
    """Whether a status in that delay would have been seen: an outage that the scenario made hides it too."""
    return delay.window_ns is not None and next(case.recording.gaps_of(Channel.API, *delay.window_ns), None) is None


def _shows_by_s(case: Case, delay: Restart) -> float | None:
    """By when CrashLoopBackOff shows at the latest, since the exit; None if it never does."""
    prediction = case.prediction
    others = prediction.containers[delay.container].other_sync_sources
    version = prediction.at_first.version
    return shows_by_s(delay.due.delay_s, version, mode=prediction.mode, other_sync_sources=others)


def _named_s(message: str) -> float | None:
    found = _MESSAGE.search(message)
    try:
        return None if found is None else parse_duration_ns(found[1]) / 1e9
    except NotADuration:
        return None


def _label(state: ContainerState) -> str:
    """As kubectl shows it: the reason, or Running."""
    return "Running" if state.kind == "running" else state.reason
