"""Checkers that hold one scenario against another: the same delays, decisions and order, or a group that waits less.

Theory of operation. Each delay is judged by the curve of its own node elsewhere. Here two recordings are held against each
other: which delay is due does not matter, only that both waited as long, but for the lateness that each kubelet is allowed.

The pods of a Job are a group: it is complete when the last of them has succeeded. The group waits from the first exit of the
pod that fails until then. Both scenarios run the same lives, so that the difference is that of the delays.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from crashloop.checks.checker import Holds, Need, Seen, checker
from crashloop.checks.decisions import DecidedExit, exits_of
from crashloop.checks.delays import missing_restart
from crashloop.checks.finding import Finding, fail_unless, inconclusive
from crashloop.checks.restart_rates import COUNTED
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.model.lateness import START_SHARE_S
from crashloop.model.restart import Decision
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import watched_s, why_it_ended, why_they_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
from crashloop.restarts.restart import Restart, restarts_of
from crashloop.verdict import Outcome
from crashloop.words import at_lines, count, seconds

MIN_EXITS = 1
MIN_PODS, MIN_FAILURES = 5, 4
APART_S = 0.05
"""Events closer than this have no order. What one waits for takes a relist and a sync of the kubelet, so it comes later."""


@checker(
    "same-delays",
    Need("delays", 2, "delay", "in all scenarios", is_shown=False),
    compares=True,
    holds=Holds.DECLARED,
)
def check_same_delays(cases: Sequence[Case], seen: Seen) -> Iterator[Finding]:
    """Each restart of a container MUST wait as long in each scenario, but for the lateness that kubelets are allowed."""
    rows = seen.facts["waited_s"] = {}
    for name in _common_containers(cases):
        for alike in _restarts_in_all(cases, name):
            took_s = {case.scenario.name: _took_s(each) for case, each in alike}
            rows.setdefault(name, []).append(took_s)
            seen["delays"] += min(took_s.values()) > 0 and all(each.due.delay_s > 0 for _, each in alike)
            for pair in pairwise(alike):
                yield from _other_delay(*sorted(pair, key=lambda one: _took_s(one[1])))


def _common_containers(cases: Sequence[Case]) -> tuple[str, ...]:
    """Containers that all scenarios have."""
    names = [[each.name for each in case.scenario.pod.containers] for case in cases]
    return tuple(name for name in names[0] if all(name in others for others in names))


def _restarts_in_all(cases: Sequence[Case], container: str) -> Iterator[list[tuple[Case, Restart]]]:
    """The restarts of one number whose start was seen in all scenarios."""
    started = [
        {each.due.restart: each for each in restarts_of(case, case.pod, container) if each.shortest} for case in cases
    ]
    for number in sorted(set.intersection(*map(set, started))):
        yield [(case, each[number]) for case, each in zip(cases, started, strict=True)]


def _took_s(delay: Restart) -> float:
    taken = delay.to_create or delay.shortest
    assert taken is not None
    return taken.seconds


def _other_delay(shorter: tuple[Case, Restart], longer: tuple[Case, Restart]) -> Iterator[Finding]:
    """A delay that is longer in one scenario than lateness explains."""
    (_, delay), (other, late) = shorter, longer
    allowed_s = max(each.due.latest_s - each.due.delay_s for each in (delay, late))
    allowed_s += 0.0 if delay.to_create and late.to_create else START_SHARE_S
    excess_s = _took_s(late) - _took_s(delay) - allowed_s
    if excess_s <= 0:
        return
    stands_on = [
        (where.scenario.name, each.shortest.lines if each.shortest else ()) for where, each in (shorter, longer)
    ]
    waits = " and ".join(
        f"{seconds(_took_s(each))} in {name} {at_lines(lines)}"
        for (name, lines), each in zip(stands_on, (delay, late), strict=True)
    )
    sentence = f"{delay.name} waited {waits}; lateness explains {seconds(allowed_s)} of the difference."
    doubt = excuse(other, late.window_ns, _took_s(delay), excess_s)
    yield fail_unless(doubt, sentence).at(*stands_on)


@checker(
    "same-decisions",
    "min_exits (1) exits of each container in all scenarios, or all that its program makes",
    "after an exit without a restart, a watch longer than the delay due, and than the host held the restart up",
    compares=True,
    holds=Holds.DECLARED,
)
def check_same_decisions(cases: Sequence[Case], seen: Seen) -> Iterator[Finding]:
    """Each exit of a container MUST be followed by a restart in all scenarios, or in none."""
    decisions = seen.facts["decisions"] = {}
    for spec in cases[0].scenario.pod.containers:
        exits = [tuple(exits_of(case, case.pod, spec.name)) for case in cases]
        fewest = min(exits, key=len)
        decisions[spec.name] = [f"{each.instance.exit_code}: {_followed(each)}" for each in fewest]
        for alike in zip(*exits, strict=False):
            for pair in pairwise(zip(cases, alike, strict=True)):
                yield from _decided_otherwise(*pair)
        needed = min(int(cases[0].number("min_exits", MIN_EXITS)), spec.program.exits)
        if len(fewest) < needed:
            few = f'{count(len(fewest), "exit")} of "{spec.name}" in all, {needed} needed'
            yield inconclusive(f"{few}: {why_they_ended(cases)}.")


def _followed(each: DecidedExit) -> str:
    return "restarted" if each.following is not None else "not restarted"


def _decided_otherwise(one: tuple[Case, DecidedExit], other: tuple[Case, DecidedExit]) -> Iterator[Finding]:
    """An exit that is followed by a restart in one scenario only, or that was not made alike."""
    outcomes = " and ".join(
        f"{_followed(each)} in {case.scenario.name} {at_lines([each.line])}" for case, each in (one, other)
    )
    stands_on = [(case.scenario.name, (each.line,)) for case, each in (one, other)]
    (_, first), (_, second) = one, other
    if first.instance.exit_code != second.instance.exit_code:
        sentence = f'exit {first.number + 1} of "{first.container}" had code {first.instance.exit_code} in one scenario'
        also = f"and {second.instance.exit_code} in another; the scenarios were not carried out alike."
        yield inconclusive(f"{sentence} {also}").at(*stands_on)
    elif (first.following is None) != (second.following is None):
        stopped_case, stopped = one if first.following is None else other
        sentence = f'exit {first.number + 1} of "{first.container}", with {first.instance.exit_code}, was {outcomes}.'
        yield fail_unless(_may_still_come(stopped_case, stopped), sentence).at(*stands_on)


def _may_still_come(case: Case, stopped: DecidedExit) -> str | None:
    """Why no restart was seen though the kubelet may have decided on one; None if it decided against it."""
    too_short, delay = f"That watch was too short: {why_it_ended(case)}", stopped.delay
    if stopped.decided.decision is Decision.STOP or delay is None:
        latest_s = delay.due.latest_s if delay else 0.0
        return None if watched_s(case.recording, stopped.instance.exit) > latest_s else too_short
    missing = missing_restart(case, delay, stopped.decided.step)
    if missing is None:
        return too_short
    return None if missing.outcome is Outcome.FAIL else f"In {case.scenario.name} {missing.sentence.removesuffix('.')}"


EventKey = tuple[str, int, str]
"""Container, number of its instance, and start or exit."""
Events = dict[EventKey, Fact]


@checker(
    "same-order",
    Need("events", 4, "event", "in all scenarios", is_shown=False),
    compares=True,
    holds=Holds.DECLARED,
)
def check_same_order(cases: Sequence[Case], seen: Seen) -> Iterator[Finding]:
    """Starts and exits of all containers MUST come in the same order in each scenario, where they are 0.05 s apart or more.

    A start counts from the creation of its container, which is the kubelet's decision; what follows is the runtime's time.
    """
    events = [dict(_starts_and_exits(case)) for case in cases]
    common = [key for key in events[0] if all(key in each for each in events)]
    in_order = sorted(common, key=lambda key: events[0][key].utc_ns or 0)
    seen["events"] += len(common)
    seen.facts["order"] = [_event_name(key) for key in in_order]
    for one, other in combinations(common, 2):
        for here, there in pairwise(zip(cases, events, strict=True)):
            yield from _swapped(one, other, here, there)


def _starts_and_exits(case: Case) -> Iterator[tuple[EventKey, Fact]]:
    for spec in case.scenario.pod.containers:
        for number, each in enumerate(ran(case.pod, spec.name)):
            for what, fact in (("start", each.begun), ("exit", each.exit)):
                if fact is not None and fact.utc_ns is not None:
                    yield (spec.name, number, what), fact


def _event_name(key: EventKey) -> str:
    container, number, what = key
    return f'{what} {number + 1} of "{container}"'


def _swapped(
    one: EventKey, other: EventKey, here: tuple[Case, Events], there: tuple[Case, Events]
) -> Iterator[Finding]:
    """Two events that have changed places."""
    apart_s = [((events[other].utc_ns or 0) - (events[one].utc_ns or 0)) / 1e9 for _, events in (here, there)]
    if min(apart_s) > -APART_S or max(apart_s) < APART_S:
        return
    stands_on = [(case.scenario.name, (events[one].line, events[other].line)) for case, events in (here, there)]
    (first, first_lines), (second, second_lines) = stands_on
    before, after = (one, other) if apart_s[0] > 0 else (other, one)
    sentence = (
        f"{_event_name(before)} came before {_event_name(after)} in {first} {at_lines(first_lines)} "
        f"and after it in {second} {at_lines(second_lines)}."
    )
    doubt = _held_up(one, other, *here) or _held_up(one, other, *there)
    yield fail_unless(doubt, sentence).at(*stands_on)


def _held_up(one: EventKey, other: EventKey, case: Case, events: Events) -> str | None:
    """Why two events of a scenario may have changed places: programs run on while the host holds the kubelet up."""
    first_ns, last_ns = sorted(events[each].utc_ns or 0 for each in (one, other))
    doubt = excuse(case, (case.recording.begin_ns, last_ns), 0.0, (last_ns - first_ns) / 1e9)
    return None if doubt is None else f"{doubt}, in {case.scenario.name}"


class GroupWait(NamedTuple):
    """The wait of a group of pods for the one that fails."""

    case: Case
    failed: Fact
    done: Fact
    delays: tuple[Restart, ...]
    """After each exit of the pod that failed."""

    @property
    def window_ns(self) -> tuple[int, int]:
        return self.failed.utc_ns or 0, self.done.utc_ns or 0

    @property
    def took_s(self) -> float:
        return (self.window_ns[1] - self.window_ns[0]) / 1e9

    @property
    def lines(self) -> tuple[int, int]:
        return self.failed.line, self.done.line

    @property
    def said(self) -> str:
        return f"{seconds(self.took_s)} in {self.case.scenario.name} {at_lines(self.lines)}"


@checker(
    "group-wait",
    "min_pods (5) pods that succeed in each scenario, of which one alone restarts, min_failures (4) times",
    compares=True,
    holds=Holds.DECLARED,
)
def check_group_wait(cases: Sequence[Case], seen: Seen) -> Iterator[Finding]:
    """A group MUST wait less in the last scenario than in the first, by what their curves owe, but for lateness and starts."""
    groups = [_group_wait(case) for case in (cases[0], cases[-1])]
    waits = [each for each in groups if isinstance(each, GroupWait)]
    seen.facts["waited_s"] = {each.case.scenario.name: round(each.took_s, 3) for each in waits}
    yield from (each for each in groups if isinstance(each, Finding))
    if len(waits) == len(groups):
        yield from _saved_too_little(*waits)


def _group_wait(case: Case) -> GroupWait | Finding:
    """How long the group of a scenario waited, or what of it was not seen."""
    pods, failures = int(case.number("min_pods", MIN_PODS)), int(case.number("min_failures", MIN_FAILURES))
    where, why = f"in {case.scenario.name}", why_it_ended(case)
    ends = [_pod_success(pod) for pod in case.pods]
    succeeded = [each for each in ends if each is not None and each.utc_ns is not None]
    if len(succeeded) < max(pods, len(case.pods)):
        return inconclusive(f"{count(len(succeeded), 'pod')} of {pods} seen to succeed {where}: {why}.")
    failing = [pod for pod in case.pods if len(ran(pod, COUNTED)) > 1]
    delays = tuple(each for pod in failing[:1] for each in restarts_of(case, pod, COUNTED) if each.next is not None)
    if len(failing) != 1 or len(delays) < failures or delays[0].exit is None or delays[0].exit.utc_ns is None:
        times = f"{count(len(failing), 'pod')} seen to restart {where}, the first of them {count(len(delays), 'time')}"
        return inconclusive(f"{times}; one that restarts {failures} times needed: {why}.")
    return GroupWait(case, delays[0].exit, max(succeeded, key=lambda each: each.utc_ns or 0), delays)


def _pod_success(pod: PodHistory) -> Fact | None:
    """The exit with 0 that ends the container of a pod; None if it was not seen."""
    instances = ran(pod, COUNTED)
    return instances[-1].exit if instances and instances[-1].exit_code == 0 else None


def _saved_too_little(longer: GroupWait, shorter: GroupWait) -> Iterator[Finding]:
    due_s = sum(each.due.delay_s for each in longer.delays)
    latest_s = sum(each.due.latest_s + START_SHARE_S for each in shorter.delays)
    saved_s, owed_s = longer.took_s - shorter.took_s, due_s - latest_s
    if owed_s <= 0:
        yield inconclusive(f"the curves differ by less than lateness and starts explain, {seconds(latest_s)}.")
    elif saved_s < owed_s:
        sentence = f"the group waited {shorter.said} and {longer.said}; {seconds(owed_s)} less were due."
        doubt = excuse(shorter.case, shorter.window_ns, latest_s, owed_s - saved_s)
        places = [(each.case.scenario.name, each.lines) for each in (shorter, longer)]
        yield fail_unless(doubt, sentence).at(*places)
