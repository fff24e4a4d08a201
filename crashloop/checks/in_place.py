"""Checker of where a restart happens: in the same pod and sandbox, at the same address."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TypeVar

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.history.event import Channel
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import StatusReport
from crashloop.restarts.case import Case
from crashloop.restarts.lives import ran
from crashloop.spec.intervention import MAKE_ANOTHER_POD, InterventionKind
from crashloop.words import at_lines, seconds

MIN_RESTARTS = 2
T = TypeVar("T")


def check_in_place(case: Case) -> Checked:
    """Restarts MUST keep the pod, its startTime, its sandbox and its address; only a controller replaces a pod that has ended.

    Needs min_restarts (2) restarts, and the runtime's events throughout.
    """
    findings: list[Finding] = []
    asked = {each.action for each in case.scenario.interventions}
    if len(case.pods) > 1 and not asked & MAKE_ANOTHER_POD and not case.scenario.replaces_pods:
        other = case.pods[1]
        lines = [fact.line for fact in (other.created,) if fact]
        findings.append(
            fail(f"a second pod appeared, uid {other.uid} {at_lines(lines)}; one pod was to be kept.", *lines)
        )
    kept = case.pods if InterventionKind.KILL_SANDBOX not in asked else ()
    for first, event in (found for pod in kept for found in _later_sandboxes(pod)):
        findings.append(
            fail(
                f"a new sandbox was created {at_lines([first, event])}; a restart was to keep the sandbox.",
                first,
                event,
            )
        )
    findings += [finding for pod in kept for finding in _other_addresses(pod)]
    findings += [finding for pod in case.pods for finding in _other_start_times(pod)]
    restarts = sum(max(0, len(ran(pod, spec.name)) - 1) for pod in case.pods for spec in case.scenario.pod.containers)
    if not findings:
        findings += too_few(case, restarts, "min_restarts", MIN_RESTARTS, "restart")
    if not findings and any(Channel.RUNTIME not in pod.channels for pod in case.pods):
        findings.append(inconclusive("no runtime evidence, and nothing else shows the sandbox."))
    lost = next(case.recording.gaps_of(Channel.RUNTIME, case.recording.begin_ns, case.recording.end_ns), None)
    if not findings and lost is not None:
        findings.append(
            inconclusive(
                f"runtime events were lost (history line {lost.line}), and with them perhaps a sandbox.", lost.line
            )
        )
    return Checked(findings=tuple(findings), facts={"restarts": restarts})


def _later_sandboxes(pod: PodHistory) -> list[tuple[int, int]]:
    """Lines of the creation of the sandbox that the first container came into, and of each later one's.

    A sandbox that went before anything ran in it was an attempt to begin, such as one that the network refused.
    """
    created: dict[str, int] = {}
    for each in pod.sandboxes:
        if each.phase in ("created", "started"):
            created.setdefault(each.sandbox_id, each.fact.line)
    began = min((line for each in pod.containers.values() for one in each for line in one.lines), default=None)
    if began is None:
        return []
    before = [line for line in created.values() if line < began]
    later = [line for line in created.values() if line > began]
    first = before[-1] if before else next(iter(later), 0)
    return [(first, line) for line in later if line != first]


def _other_addresses(pod: PodHistory) -> Iterator[Finding]:
    """The first status with another address than the one before."""
    for before, after, lines in _first_change(pod, lambda status: status.address or None):
        yield fail(
            f"the pod's address was said to be {after}, and {before} before {at_lines(lines)}; "
            "a restart was to keep the address.",
            *lines,
        )


def _other_start_times(pod: PodHistory) -> Iterator[Finding]:
    """The first status with another startTime of the pod than the one before.

    A static pod has that of its mirror pod, and may have another one once that was deleted and has come back.
    """
    if pod.mirrors:
        return
    for before, after, lines in _first_change(pod, lambda status: status.started_ns):
        apart = seconds(abs(after - before) / 1e9)
        yield fail(f"the pod's startTime moved by {apart} {at_lines(lines)}; a restart was to keep it.", *lines)


def _first_change(
    pod: PodHistory, stated: Callable[[StatusReport], T | None]
) -> Iterator[tuple[T, T, tuple[int, int]]]:
    """The first two statements that follow one another and differ, with their lines; None states nothing."""
    statements = [(value, each.line) for each in pod.statuses if (value := stated(each)) is not None]
    for (before, first), (after, second) in pairwise(statements):
        if after != before:
            yield before, after, (first, second)
            return
