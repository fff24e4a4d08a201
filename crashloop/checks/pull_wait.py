"""Checker of pulls that meet on a node: one waits for the other, and the kubelet's Events report how long each took and waited.

Theory of operation. The registry's requests show when each pull was under way. The Event Pulled of a pod states the time of its
pull alone, and "including waiting". What it states is held against bounds that need no clock of the kubelet: a pull takes as long
as its requests at least, and waits at least from the receipt of its Event Pulling to the last answer to the pull before it. A pod
pulls once it has a sandbox, and has pulled before its Event Pulled is received, which bounds both from above.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.checks.images import OK, pulled
from crashloop.history.event import Channel
from crashloop.history.recording import Gap, ImageRequest, KubernetesEvent, PodHistory
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import why_it_ended
from crashloop.spec.duration import duration_seconds
from crashloop.words import at_lines, count, seconds

MIN_WAIT_S = 2.0
ASKS_WITHIN_S = 1.0
"""From the Event Pulling to the time from which the kubelet counts: the next statement, before which it may lose its CPU."""
STEP_S = 0.002
"""Two times in whole milliseconds."""
_STATED = re.compile(r" in (?P<took>\S+) \((?P<total>\S+) including waiting\)")


class Pull(msgspec.Struct, frozen=True):
    """A pull by its requests, and by what the kubelet said of it."""

    first: ImageRequest
    answered_ns: int
    """When its last answer began."""
    pod: PodHistory
    reported: KubernetesEvent


class Bounds(msgspec.Struct, frozen=True):
    """Between what a time must lie."""

    least_s: float
    most_s: float


def check_pull_wait(case: Case) -> Checked:
    """A pull MUST begin after the end of the one before it on its node, and its Event MUST state how long it took and waited.

    Needs a pull that waited for min_wait_s (2) behind another one, and the Events of both.
    """
    requests = _by_pull(case)
    findings = list(_overlaps(requests))
    reports = _reports(case)
    if not findings and len(reports) != len(requests):
        seen = f"{count(len(requests), 'pull')} and {count(len(reports), 'Event')} about them were seen"
        findings.append(inconclusive(f"{seen}: {why_it_ended(case)}."))
    if findings:
        return Checked(findings=tuple(findings))
    pulls = [
        Pull(own[0], max(each.answered_ns for each in own), pod, event)
        for own, (event, pod) in zip(requests, reports, strict=True)
    ]
    longest_s = 0.0
    rows: list[dict[str, float | None]] = []
    for number, (before, pull) in enumerate(zip((None, *pulls), pulls, strict=False), start=1):
        took, waited = _took(case, before, pull), _waited(case, before, pull)
        longest_s = max(longest_s, waited.least_s)
        stated = _stated(pull.reported)
        rows.append({name: stated and round(stated[at], 3) for at, name in enumerate(("took_s", "waited_s"))})
        findings += _judged(case, number, pull, stated, (took, waited))
    min_wait_s = case.number("min_wait_s", MIN_WAIT_S)
    if not findings and longest_s < min_wait_s:
        findings.append(inconclusive(f"no pull waited for {seconds(min_wait_s)} behind another: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts={"pulls": rows})


def _by_pull(case: Case) -> list[list[ImageRequest]]:
    """The requests that succeeded; each pull begins with one for what the tag names."""
    names = {each.name for each in pulled(case)}
    pulls: list[list[ImageRequest]] = []
    for each in case.recording.requests:
        if each.container in names and each.data.status == OK:
            if each.names_tag:
                pulls.append([])
            if pulls:
                pulls[-1].append(each)
    return pulls


def _overlaps(pulls: list[list[ImageRequest]]) -> Iterator[Finding]:
    for number, (before, after) in enumerate(pairwise(pulls), start=2):
        last = max(before, key=lambda each: each.answered_ns)
        ahead_s = (last.answered_ns - after[0].t_ns) / 1e9
        if ahead_s > 0:
            lines = (last.line, after[0].line)
            yield fail(
                f"pull {number} began {seconds(ahead_s)} before the last answer to pull {number - 1} {at_lines(lines)}; "
                "a node pulls one image at a time.",
                *lines,
            )


def _reports(case: Case) -> list[tuple[KubernetesEvent, PodHistory]]:
    """What was reported of pulls, in the order of the reports: that of the pulls, which are one at a time."""
    reports = [(each, pod) for pod in case.pods for each in pod.events if each.data.reason == "Pulled"]
    return sorted(reports, key=lambda each: each[0].t_ns)


def _stated(event: KubernetesEvent) -> tuple[float, float] | None:
    """Seconds that a pull took and waited, as an Event states it."""
    found = _STATED.search(event.data.message)
    took_s, total_s = (duration_seconds(found[each]) for each in ("took", "total")) if found else (None, None)
    return None if took_s is None or total_s is None else (took_s, total_s - took_s)


def _took(case: Case, before: Pull | None, pull: Pull) -> Bounds:
    since_ns = max(_asked_ns(case, pull), before.answered_ns if before else 0)
    return Bounds((pull.answered_ns - pull.first.t_ns) / 1e9, (pull.reported.t_ns - since_ns) / 1e9)


def _waited(case: Case, before: Pull | None, pull: Pull) -> Bounds:
    asks = next((each for each in pull.pod.events if each.data.reason == "Pulling"), None)
    least_s = (before.answered_ns - asks.t_ns) / 1e9 - ASKS_WITHIN_S if before and asks else 0.0
    total_s = (pull.reported.t_ns - _asked_ns(case, pull)) / 1e9
    return Bounds(max(0.0, least_s), total_s - (pull.answered_ns - pull.first.t_ns) / 1e9)


def _asked_ns(case: Case, pull: Pull) -> int:
    """The earliest that the kubelet may have asked for it: once the pod has its sandbox."""
    made = next((each.fact.utc_ns for each in pull.pod.sandboxes), None)
    return case.recording.begin_ns if made is None or _gap(case, Channel.RUNTIME) else made


def _judged(
    case: Case, number: int, pull: Pull, stated: tuple[float, float] | None, due: tuple[Bounds, Bounds]
) -> Iterator[Finding]:
    line, lost = pull.reported.line, _lost(case)
    if stated is None:
        yield fail_unless(lost, f"the Event of pull {number} does not state its times {at_lines([line])}.", line)
        return
    slack_s = STEP_S + case.recording.clocks.step_within_ns(case.recording.begin_ns, case.recording.end_ns) / 1e9
    for verb, value_s, bounds in zip(("took", "waited"), stated, due, strict=True):
        if not bounds.least_s - slack_s <= value_s <= bounds.most_s + slack_s:
            lines = (pull.first.line, line)
            yield fail_unless(
                lost,
                f"the Event of pull {number} states that it {verb} {seconds(value_s)} {at_lines(lines)}; "
                f"it {verb} {seconds(bounds.least_s)} to {seconds(bounds.most_s)}.",
                *lines,
            )


def _lost(case: Case) -> str | None:
    """Why the Events may not be in the order of the pulls."""
    gap = _gap(case, Channel.EVENTS)
    return None if gap is None else f"Events were lost (history line {gap.line})"


def _gap(case: Case, channel: Channel) -> Gap | None:
    return next(case.recording.gaps_of(channel, case.recording.begin_ns, case.recording.end_ns), None)
