"""Checkers of image pulls: how many a restart makes, which image they get, with which password, how far apart, one at a time.

Theory of operation. A pull comes with a look of the kubelet at the pod, and each start of another container of the pod is part of
such a look. So a pull that is due comes before the second look after that; no clock is needed to say that it is late.

The registry's requests show when each pull was under way. The Event Pulled of a pod states the time of its pull alone, and
"including waiting". What it states is held against bounds that need no clock of the kubelet: a pull takes as long as its requests
at least, and waits at least from the receipt of its Event Pulling to the last answer to the pull before it. A pod pulls once it
has a sandbox, and has pulled before its Event Pulled is received, which bounds both from above.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from crashloop.checks.checker import Need, Seen, checker
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.history.event import Channel
from crashloop.history.instances import Instance
from crashloop.history.recording import ImageRequest, KubernetesEvent, PodHistory
from crashloop.model.after_restart import pull_delays, pulls_at_restart
from crashloop.restarts.case import Case
from crashloop.restarts.dependencies import VERSION, ObjectState, states_of_object, states_possible_at, versions_of_tag
from crashloop.restarts.evidence import blind_spot, first_gap, why_it_ended
from crashloop.restarts.lives import ran
from crashloop.spec.dependency import PASSWORD_KEY, VERSION_VARIABLE, PullPolicy
from crashloop.spec.duration import duration_seconds
from crashloop.spec.pod import Container
from crashloop.words import at_lines, count, seconds

OK = 200
ONE_PULL_NS = 5_000_000_000
"""Requests that are not further apart belong to one pull: the runtime repeats what fails at once. The least backoff is 10 s."""


def pulled(case: Case) -> Iterator[Container]:
    """The containers whose image is in the registry."""
    return (each for each in case.scenario.pod.containers if each.image is not None)


def requests_for(case: Case, container: Container) -> tuple[ImageRequest, ...]:
    """The requests for what the tag of its image names, in their order."""
    return tuple(each for each in case.recording.requests if each.container == container.name and each.names_tag)


def failed_pulls(case: Case, container: Container) -> tuple[ImageRequest, ...]:
    """The first request of each pull that failed, up to the first that did not."""
    firsts: list[ImageRequest] = []
    for each in requests_for(case, container):
        if each.data.status == OK:
            break
        if not firsts or each.t_ns - firsts[-1].t_ns > ONE_PULL_NS:
            firsts.append(each)
    return tuple(firsts)


@checker("pulls", Need("restarts", 5, "restart", is_shown=False), "a pull before the first start")
def check_pulls(case: Case, seen: Seen) -> Iterator[Finding]:
    """A restart MUST pull the image once under the pull policy Always, and not at all under IfNotPresent."""
    pulls: dict[str, list[int]] = {}
    for spec in pulled(case):
        instances, pulls[spec.name] = ran(case.pod, spec.name), []
        for before, after in pairwise(instances):
            if before.begun_ns is not None and after.begun_ns is not None:
                requests = _pulled_between(case, spec, _created_ns(before), _created_ns(after))
                seen["restarts"] += 1
                pulls[spec.name].append(len(requests))
                yield from _pulled_otherwise(case, spec, after, requests, (before.begun_ns, after.begun_ns))
        if not instances or not _pulled_between(case, spec, 0, _created_ns(instances[0])):
            unseen = f'no pull was seen before the first start of "{spec.name}"'
            yield inconclusive(f"{unseen}: {why_it_ended(case)}.")
    seen.facts["pulls"] = pulls


def _pulled_between(case: Case, spec: Container, from_ns: int, to_ns: int) -> tuple[ImageRequest, ...]:
    """The pulls that succeeded after the one time and not after the other, UTC."""
    return tuple(each for each in requests_for(case, spec) if each.data.status == OK and from_ns < each.t_ns <= to_ns)


def _pulled_otherwise(
    case: Case, spec: Container, restarted: Instance, requests: tuple[ImageRequest, ...], window_ns: tuple[int, int]
) -> Iterator[Finding]:
    """Another number of pulls than the policy needs for a restart."""
    assert spec.image is not None
    due = pulls_at_restart(spec.image.policy)
    if len(requests) != due:
        lines = (*(each.line for each in requests), *restarted.lines[:1])
        blind = blind_spot(case, case.pod, ran(case.pod, spec.name), *window_ns)
        yield fail_unless(
            f"A start could have gone unseen: {blind}" if blind else None,
            f'the image of instance {restarted.ordinal} of "{spec.name}" was pulled {count(len(requests), "time")} '
            f"{at_lines(lines)}; under {spec.image.policy} a restart pulls it {count(due, 'time')}.",
            *lines,
        )


def _created_ns(instance: Instance) -> int:
    """The latest that an instance was created, UTC: its stamp is rounded down. Its pull came before that."""
    begun = instance.begun
    return 0 if begun is None or begun.utc_ns is None else begun.utc_ns + begun.resolution_ns


@checker("image-of-tag", Need("moved", 1, "tag", "that moved between two restarts", is_shown=False))
def check_image_of_tag(case: Case, seen: Seen) -> Iterator[Finding]:
    """Under the pull policy Always, each life MUST run in the image that the tag named when it was started.

    Counted are restarts wholly before the tag was moved, and wholly after it.
    """
    decided: dict[str, list[str]] = {}
    for spec in pulled(case):
        if spec.image is None or spec.image.policy is not PullPolicy.ALWAYS:
            continue
        states, decided[spec.name] = versions_of_tag(case, spec), []
        for before, after in pairwise(ran(case.pod, spec.name)):
            found = next((note for note in after.notes if note.name == VERSION_VARIABLE), None)
            if before.exit_ns is None or after.begun_ns is None or found is None:
                continue
            held = _held_between(states, before.exit_ns, _created_ns(after))
            due = tuple(dict.fromkeys(each.data[VERSION] for each in held if each.data is not None))
            if found.value not in due:
                lines = (found.line, *(each.line for each in held if each.line is not None))
                in_image = f'instance {after.ordinal} of "{spec.name}" ran in image {found.value} {at_lines(lines)}'
                yield fail(f"{in_image}; the tag named {' or '.join(due)}.", *lines)
            elif len(due) == 1:
                decided[spec.name].append(found.value)
        seen["moved"] += len(set(decided[spec.name])) > 1
    seen.facts["images"] = decided


def _held_between(states: tuple[ObjectState, ...], from_ns: int, to_ns: int) -> tuple[ObjectState, ...]:
    """Those that may have held at some time of an interval (UTC)."""
    later = (*(each.to_ns for each in states[1:]), to_ns + 1)
    return tuple(
        each for each, over_ns in zip(states, later, strict=True) if each.from_ns <= to_ns and over_ns >= from_ns
    )


MOST_LOOKS = 3
"""Looks after the due moment before a pull is late; one more than a sync that was under way can account for."""


@checker("pull-backoff", Need("delays", 3, "delay", "between failed pulls", is_shown=False))
def check_pull_backoff(case: Case, seen: Seen) -> Iterator[Finding]:
    """Failed pulls of an image MUST be 10 s apart at first, then twice as long each time, up to 300 s.

    The starts of the other containers of the pod show the looks of the kubelet.
    """
    apart: list[float] = []
    for spec in pulled(case):
        failed = failed_pulls(case, spec)
        apart += [round((after.t_ns - before.t_ns) / 1e9, 3) for before, after in pairwise(failed)]
        yield from _pulls_apart(case, spec, failed)
    seen["delays"] = len(apart)
    seen.facts["pulls_apart_s"] = apart


def _pulls_apart(case: Case, spec: Container, failed: tuple[ImageRequest, ...]) -> Iterator[Finding]:
    others = (ran(case.pod, each.name) for each in case.scenario.pod.containers if each is not spec)
    looks_ns = [each.begun_ns for instances in others for each in instances if each.begun_ns is not None]
    may_have_succeeded = bool(ran(case.pod, spec.name))
    # The last one has no successor unless it is overdue.
    for before, after, due_s in zip(failed, (*failed[1:], None), pull_delays(), strict=False):
        due_ns = before.t_ns + round(due_s * 1e9)
        ends_ns = case.recording.end_ns if after is None else after.t_ns
        lines = (before.line, *((after.line,) if after else ()))
        apart_s = (ends_ns - before.t_ns) / 1e9
        step_ns = case.recording.clocks.step_within_ns(before.t_ns, ends_ns)
        if after is not None and ends_ns < due_ns - step_ns:
            apart = f"are {seconds(apart_s, unlike=due_s)} apart {at_lines(lines)}"
            yield fail(f'two failed pulls of the image of "{spec.name}" {apart}; {seconds(due_s)} was due.', *lines)
        missed = sum(due_ns + step_ns < each < ends_ns for each in looks_ns)
        if missed > MOST_LOOKS and not may_have_succeeded:
            what = f"again only after {seconds(apart_s)}" if after else f"not again within {seconds(apart_s)}"
            yield fail(
                f'after a failed pull the image of "{spec.name}" was pulled {what} {at_lines(lines)}; {seconds(due_s)} was due, '
                f"and the kubelet looked at the pod {missed} times meanwhile.",
                *lines,
            )


@checker(
    "pull-credentials",
    Need("refused", 1, "refused pull", "before its secret was changed"),
    Need("accepted", 1, "accepted pull", "after its secret was changed"),
)
def check_pull_credentials(case: Case, seen: Seen) -> Iterator[Finding]:
    """Each pull MUST come with the password that the pull secret held then."""
    for spec in pulled(case):
        secret = next((each for each in case.scenario.objects if spec.image and each.name == spec.image.secret), None)
        states = () if secret is None else states_of_object(case, secret)
        for each in requests_for(case, spec) if states else ():
            # The first request of a pull has no password: the runtime waits to be asked for one.
            if each.data.password is None:
                continue
            seen["refused"] += each.data.status != OK and each.t_ns < states[-1].from_ns
            seen["accepted"] += each.data.status == OK and each.t_ns > states[-1].to_ns
            held = states_possible_at(case, states, each.t_ns)
            due = tuple(dict.fromkeys(one.data[PASSWORD_KEY] for one in held if one.data is not None))
            if each.data.password not in due:
                lines = (each.line, *(one.line for one in held if one.line is not None))
                came = f'a pull of the image of "{spec.name}" came with the password {each.data.password} {at_lines(lines)}'
                yield fail(f"{came}; its pull secret held {' or '.join(due) or 'none'}.", *lines)


MIN_WAIT_S = 2.0
ASKS_WITHIN_S = 1.0
"""From the Event Pulling to the time from which the kubelet counts: the next statement, before which it may lose its CPU."""
STEP_S = 0.002
"""Two times in whole milliseconds."""
_TIMES = re.compile(r" in (?P<took>\S+) \((?P<total>\S+) including waiting\)")


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


@checker("pull-wait", "a pull that waited for min_wait_s (2) behind another one, and the Events of both")
def check_pull_wait(case: Case, seen: Seen) -> Iterator[Finding]:
    """A pull MUST begin after the end of the one before it on its node, and its Event MUST state how long it took and waited."""
    requests, reports = _by_pull(case), _events_of_pulls(case)
    findings = list(_overlapping_pulls(requests))
    if not findings and len(reports) != len(requests):
        shown = f"{count(len(requests), 'pull')} and {count(len(reports), 'Event')} about them were seen"
        findings.append(inconclusive(f"{shown}: {why_it_ended(case)}."))
    if findings:
        yield from findings
        return
    pulls = [
        Pull(own[0], max(each.answered_ns for each in own), pod, event)
        for own, (event, pod) in zip(requests, reports, strict=True)
    ]
    longest_s = 0.0
    rows: list[dict[str, float | None]] = []
    for number, (before, pull) in enumerate(zip((None, *pulls), pulls, strict=False), start=1):
        took, waited = _took(case, before, pull), _waited(case, before, pull)
        longest_s = max(longest_s, waited.least_s)
        stated = _stated_times(pull.reported)
        rows.append({name: stated and round(stated[at], 3) for at, name in enumerate(("took_s", "waited_s"))})
        findings += _stated_wrong(case, number, pull, stated, (took, waited))
    seen.facts["pulls"] = rows
    yield from findings
    min_wait_s = case.number("min_wait_s", MIN_WAIT_S)
    if not findings and longest_s < min_wait_s:
        yield inconclusive(f"no pull waited for {seconds(min_wait_s)} behind another: {why_it_ended(case)}.")


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


def _overlapping_pulls(pulls: list[list[ImageRequest]]) -> Iterator[Finding]:
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


def _events_of_pulls(case: Case) -> list[tuple[KubernetesEvent, PodHistory]]:
    """What was reported of pulls, in the order of the reports: that of the pulls, which are one at a time."""
    reports = [(each, pod) for pod in case.pods for each in pod.events if each.data.reason == "Pulled"]
    return sorted(reports, key=lambda each: each[0].t_ns)


def _stated_times(event: KubernetesEvent) -> tuple[float, float] | None:
    """Seconds that a pull took and waited, as an Event states it."""
    found = _TIMES.search(event.data.message)
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
    return case.recording.begin_ns if made is None or first_gap(case, Channel.RUNTIME) else made


def _stated_wrong(
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
    gap = first_gap(case, Channel.EVENTS)
    return None if gap is None else f"Events were lost (history line {gap.line})"
