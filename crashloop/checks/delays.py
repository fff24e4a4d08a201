"""Checkers of delays: every restart against both of its bounds, and the conditions of single requirements on some of them."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from crashloop.checks.checker import Holds, Need, Seen, checker
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive, worst_first
from crashloop.checks.pooled import SAMPLES, sample_of
from crashloop.history.instances import Instance
from crashloop.history.stamps import Fact
from crashloop.model.restart import Decision
from crashloop.restarts.bounds import (
    LOOK_ENDS_S,
    Early,
    Late,
    awaits_init,
    early,
    key_of,
    late,
    late_alike,
    overdue,
    refused,
    stepped_s,
    why_late,
    why_refused,
)
from crashloop.restarts.case import Case
from crashloop.restarts.dependencies import missing_dependencies
from crashloop.restarts.evidence import why_it_ended
from crashloop.restarts.lives import ran, was_killed
from crashloop.restarts.model_input import turning_points
from crashloop.restarts.restart import Restart, restarts, restarts_of
from crashloop.spec.pod import Container
from crashloop.verdict import Missed
from crashloop.words import at_lines, count, seconds

MIN_DELAYS = 2
"""The least delays that were not free."""
DELAYS = Need("delays", MIN_DELAYS, "delay", is_shown=False)


@checker("delays", DELAYS)
def check_delays(case: Case, seen: Seen) -> Iterator[Finding]:
    """Every delay MUST keep both bounds, and every restart due MUST come."""
    yield from judged(case, seen, restarts(case))


@checker("never-early", DELAYS, holds=Holds.ANY_PROGRAM)
def check_never_early(case: Case, seen: Seen) -> Iterator[Finding]:
    """No restart MUST come before its delay has passed."""
    yield from judged(case, seen, restarts(case), is_late=False)


@checker("never-late", DELAYS)
def check_never_late(case: Case, seen: Seen) -> Iterator[Finding]:
    """No restart MUST come later than the kubelet's own retry allows."""
    yield from judged(case, seen, restarts(case), is_early=False)


@checker("punctual", DELAYS, holds=Holds.EVERY_POD)
def check_punctual(case: Case, seen: Seen) -> Iterator[Finding]:
    """No restart that is due and comes MUST come later than the kubelet's own retry allows.

    Whether a restart is due and comes, which of several delays is due, and what waits for an object or an image, is for other
    checkers. Rows of SLOs say how late the pods of a load may be. What hides in one pod shows in those of a run (`pooled.py`).
    """
    waits = {each.name for each in case.scenario.pod.containers if any(missing_dependencies(case, each))}
    due = (
        each
        for each in restarts(case)
        if each.decided.decision is not Decision.STOP and not each.due.alternatives and each.container not in waits
    )
    chosen = tuple(due)
    seen.facts[SAMPLES] = [list(each) for restart in chosen if (each := sample_of(case, restart)) is not None]
    yield from judged(case, seen, chosen, is_early=False, is_missing=False)


@checker("first-restart-free", Need("free_restarts", 1, "free restart", is_shown=False))
def check_first_restart_free(case: Case, seen: Seen) -> Iterator[Finding]:
    """The first restart of each container MUST NOT be delayed."""
    yield from judged(case, seen, first_restarts(case), "free_restarts", counts=lambda each: each.shortest is not None)


def first_restarts(case: Case) -> Iterator[Restart]:
    """The first restart of each container, where it has no delay."""
    return (each for each in restarts(case) if each.due.restart == 1 and each.due.delay_s == 0)


@checker("doubling", Need("delays", MIN_DELAYS, "growing delay", is_shown=False))
def check_doubling(case: Case, seen: Seen) -> Iterator[Finding]:
    """Delays MUST double from the initial delay on: counted are those that differ from the one before them."""
    growing, before_s = [], 0.0
    for each in restarts(case):
        if each.due.restart == 1:
            before_s = 0.0
        if each.due.delay_s > before_s:
            growing.append(each)
        before_s = each.due.delay_s
    yield from judged(case, seen, growing)


@checker("cap", Need("at_cap", 1, "delay", "at the maximum", is_shown=False))
def check_cap(case: Case, seen: Seen) -> Iterator[Finding]:
    """Delays MUST stop growing at the maximum."""
    at_cap = (each for each in restarts(case) if each.due.delay_s >= _maximum_s(case, each))
    yield from judged(case, seen, at_cap, "at_cap")


def _maximum_s(case: Case, restart: Restart) -> float:
    """The maximum of the kubelet that delays."""
    return case.in_force_at(restart.exit.utc_ns if restart.exit else None).curve.maximum_s


@checker("reset", Need("turned", 2, "delay", "after what may reset the counter", is_shown=False))
def check_reset(case: Case, seen: Seen) -> Iterator[Finding]:
    """The delays after a turning point MUST be those due: the delay in which it fell or that follows it, and the next.

    Turning points are a life longer than all others, a recreated pod, an edited static pod, a kubelet restart and a changed
    container.
    """
    around = (
        each
        for pod in case.pods
        for container in case.scenario.pod.containers
        for turns in [turning_points(case, pod, container)]
        for each in restarts_of(case, pod, container.name)
        if {each.due.restart, each.due.restart - 1} & turns
    )
    yield from judged(case, seen, around, "turned", counts=lambda each: each.shortest is not None)


@checker("independent-counters", "two containers that have started, one of them with min_delays (2) delays")
def check_independent_counters(case: Case, seen: Seen) -> Iterator[Finding]:
    """Each container MUST be delayed by its own counter, and MUST NOT restart because another does."""
    delays = tuple(restarts(case))
    findings = list(judged(case, seen, delays, ""))
    started: dict[str, int] = {}
    for container in case.scenario.pod.containers:
        instances = ran(case.pod, container.name)
        if instances:
            started[container.name] = sum(is_delayed(each) for each in delays if each.container == container.name)
        if instances[1:] and _taken_along(case, container, *instances[:2]):
            lines = instances[1].lines[:1]
            findings.append(
                fail(f'"{container.name}" was restarted {at_lines(lines)}; only others had exited.', *lines)
            )
    yield from findings
    least = int(case.number("min_delays", MIN_DELAYS))
    if not findings and (len(started) < 2 or max(started.values()) < least):
        counts = " and ".join(f'{count(number, "delay")} of "{name}"' for name, number in started.items()) or "nothing"
        sentence = f"{counts} seen, {least} of one container beside another needed: {why_it_ended(case)}."
        yield inconclusive(sentence)


def _taken_along(case: Case, container: Container, first: Instance, following: Instance) -> bool:
    """Whether it was ended though neither its own program, nor its sandbox, a probe, a rule or a change of the pod did."""
    killed = was_killed(case, container.name, 0, first) and not case.lost_sandbox(first, following)
    return killed and not container.killing_probes and not case.restarts_all and not case.is_changed(container.name)


def is_delayed(restart: Restart) -> bool:
    """Whether its delay was seen and not free."""
    return restart.shortest is not None and restart.due.delay_s > 0


def judged(
    case: Case,
    seen: Seen,
    of: Iterable[Restart],
    need: str = "delays",
    *,
    is_early: bool = True,
    is_late: bool = True,
    is_missing: bool = True,
    counts: Callable[[Restart], bool] = is_delayed,
) -> Iterator[Finding]:
    """Restarts that were early, late, or missing; `need` counts those that prove something, but where the wall clock jumped."""
    chosen = tuple(of)
    alike = late_alike(case, chosen) if is_late else {}
    seen.facts["delays"] = [each.row for each in chosen]
    for each in chosen:
        if need:
            seen[need] += counts(each) and stepped_s(case, each) == 0
        too_soon = too_early(case, each) if is_early else None
        slow = None
        if too_soon is None and is_late:
            slow = None if awaits_init(case, each) else too_late(case, each, repeated=alike.get(key_of(each)))
            slow = slow or (missing_restart(case, each, each.due.reason) if is_missing else None)
            slow = next(iter(worst_first(each for each in (slow, held_back(case, each)) if each is not None)), None)
        found = too_soon or slow
        if found is not None:
            yield found


def too_early(case: Case, restart: Restart) -> Finding | None:
    """A start, or a create, before the delay due had passed; open where the wall clock jumped by as much."""
    seen = early(case, restart)
    if seen is None:
        return None
    least_s, lines = seen.due.delay_s, seen.taken.lines
    came = (
        f"{restart.name} {seen.verb} {_from_exit(seen.taken.seconds, least_s)} {at_lines(lines)}; "
        f"{seconds(least_s)} was due: {seen.due.reason}."
    )
    jumped = f"The wall clock jumped by {seconds(seen.stepped_s)} meanwhile"
    return _about(restart, seen, fail_unless(jumped if seen.is_open else None, came, *lines))


def _from_exit(taken_s: float, due_s: float) -> str:
    """`1.2 s after the exit`, or how long before it a start came that no exit had called for."""
    return f"{seconds(abs(taken_s), unlike=due_s)} {'before' if taken_s < 0 else 'after'} the exit"


def too_late(case: Case, restart: Restart, *, repeated: str | None = None) -> Finding | None:
    """A create by the runtime later than the kubelet's own retry allows, beyond what the host held up.

    `repeated`: the sentence that says so where delays of the same length are late by the same again and again.
    """
    seen = late(case, restart)
    if seen is None:
        return None
    due, lines = seen.due, seen.taken.lines
    said = (
        f"{restart.name} {seen.verb} {seconds(seen.taken.seconds, unlike=due.latest_s)} after the exit {at_lines(lines)}; "
        f"{seconds(due.delay_s)} was due, and {seconds(due.latest_s)} at the latest: {due.reason}."
    )
    doubt = why_late(case, restart, seen)
    if doubt is not None and repeated is not None and seen.excess_s > seen.allowance_s:
        doubt = why_late(case, restart, seen, repeated=True)
        said = said if doubt else f"{said} {repeated}"
    return _about(restart, seen, fail_unless(doubt, said, *lines))


def _about(restart: Restart, seen: Early | Late, found: Finding) -> Finding:
    """The finding with its numbers."""
    missed = Missed(
        number=restart.due.restart,
        container=restart.container,
        verb=seen.verb,
        taken_s=seen.taken.seconds,
        due_s=seen.due.delay_s,
        latest_s=seen.due.latest_s if isinstance(seen, Late) else None,
    )
    return msgspec.structs.replace(found, missed=missed)


def held_back(case: Case, restart: Restart) -> Finding | None:
    """A look of the kubelet that still refused a restart after its delay had passed."""
    seen = refused(case, restart)
    if seen is None or seen.after_s <= LOOK_ENDS_S:
        return None
    after_s = seen.due.delay_s + seen.after_s
    said = (
        f"the kubelet looked {seconds(after_s, unlike=seen.due.delay_s)} after the exit and still held {restart.name} back "
        f"{at_lines(seen.lines)}; {seconds(seen.due.delay_s)} was due: {seen.due.reason}."
    )
    return fail_unless(why_refused(case, seen), said, *seen.lines)


def missing_restart(case: Case, restart: Restart, because: str) -> Finding | None:
    """A restart that was due and not seen; `because` is the model's step."""
    missing = overdue(case, restart)
    if missing is None:
        return None
    lines = missing.exited.line, *missing.further_lines
    seen = (
        f"{restart.name} did not come within {seconds(missing.waited_s)} after the exit {at_lines([missing.exited.line])}; "
        f"{seconds(restart.due.delay_s)} was due, and {seconds(missing.due.latest_s)} at the latest: {because}."
    )
    return fail_unless(missing.doubt or _never_decided(case, missing.exited), seen, *lines)


DECIDES_WITHIN_S = 5.0
"""Two relists a second apart, and a sync that was under way."""


def _never_decided(case: Case, exited: Fact) -> str | None:
    """That the kubelet of an exit had no time to decide before one of another configuration took its place."""
    exit_ns = exited.utc_ns or 0
    later_ns = (each.data.kubelet_started_ns for each in case.recording.nodes)
    next_ns = min((each for each in later_ns if each is not None and each > exit_ns), default=None)
    if next_ns is None or case.in_force_at(exit_ns) is case.in_force_at(next_ns):
        return None
    awake_s = (next_ns - exit_ns) / 1e9 - case.recording.host.kubelet_held_s(exit_ns, next_ns)
    return (
        "The kubelet was held up until one of another configuration took its place"
        if awake_s < DECIDES_WITHIN_S
        else None
    )
