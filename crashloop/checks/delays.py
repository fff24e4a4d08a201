"""Checkers of delays: every delay against both of its bounds, and the conditions of single requirements on some delays."""

from collections.abc import Callable, Iterable, Iterator

from crashloop.checks.case import Case
from crashloop.checks.delay_bounds import too_early, too_late
from crashloop.checks.evidence import why_it_ended
from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.checks.measured_delay import MeasuredDelay, all_delays
from crashloop.checks.missing_restart import missing_restart
from crashloop.checks.objects import missing_for
from crashloop.checks.repetition import key_of, late_alike
from crashloop.checks.restart_all_triggers import ran, was_killed
from crashloop.checks.restart_window import awaits_init
from crashloop.checks.text import at_lines, count
from crashloop.history.instances import Instance
from crashloop.model.restart import Decision
from crashloop.spec.pod import Container

MIN_DELAYS = 2
"""The least delays that were not free, unless the requirement says otherwise (parameter min_delays)."""


def check_delays(case: Case) -> Checked:
    """Every delay MUST keep both bounds, and every restart due MUST come. Needs min_delays delays that are not free."""
    return judged(case, all_delays(case))


def check_never_early(case: Case) -> Checked:
    """No restart MUST come before its delay has passed. Needs min_delays delays that are not free."""
    return judged(case, all_delays(case), late=False)


def check_never_late(case: Case) -> Checked:
    """No restart MUST come later than the kubelet's own retry allows. Needs min_delays delays that are not free."""
    return judged(case, all_delays(case), early=False)


def check_punctual(case: Case) -> Checked:
    """No restart that is due and comes MUST come later than the kubelet's own retry allows.

    Needs min_delays delays that are not free. Whether a restart is due and comes, which of several delays is due, and what waits
    for an object or an image, is for other checkers.
    """
    waits = {each.name for each in case.scenario.pod.containers if any(missing_for(case, each))}
    due = (
        each
        for each in all_delays(case)
        if each.decided.decision is not Decision.STOP and not each.due.alternatives and each.container not in waits
    )
    return judged(case, due, early=False, missing=False)


def check_first_restart_free(case: Case) -> Checked:
    """The first restart of each container MUST NOT be delayed. Needs the first restart of one container."""
    return judged(case, first_restarts(case), least=1, what="free restart", counts=lambda _: True)


def first_restarts(case: Case) -> Iterator[MeasuredDelay]:
    """The first restart of each container, where it has no delay."""
    return (each for each in all_delays(case) if each.due.restart == 1 and each.due.delay_s == 0)


def check_doubling(case: Case) -> Checked:
    """Delays MUST double from the initial delay on. Needs min_delays delays that differ from the one before them."""
    growing, before_s = [], 0.0
    for each in all_delays(case):
        if each.due.restart == 1:
            before_s = 0.0
        if each.due.delay_s > before_s:
            growing.append(each)
        before_s = each.due.delay_s
    return judged(case, growing, what="growing delay")


def check_cap(case: Case) -> Checked:
    """Delays MUST stop growing at the maximum. Needs min_at_cap (1) delays at the maximum."""
    at_cap = [each for each in all_delays(case) if each.due.delay_s >= _maximum_s(case, each)]
    return judged(case, at_cap, least=int(case.number("min_at_cap", 1)), rest="at the maximum")


def _maximum_s(case: Case, delay: MeasuredDelay) -> float:
    """The maximum of the kubelet that delays."""
    return case.in_force_at(delay.exit.utc_ns if delay.exit else None).curve.maximum_s


def check_independent_counters(case: Case) -> Checked:
    """Each container MUST be delayed by its own counter, and MUST NOT restart because another does.

    Needs two containers that have started, one of them with min_delays delays that are not free.
    """
    delays = tuple(all_delays(case))
    checked = judged(case, delays, least=0)
    findings = list(checked.findings)
    seen: dict[str, int] = {}
    for container in case.scenario.pod.containers:
        instances = ran(case.pod, container.name)
        if instances:
            seen[container.name] = sum(_counts(each) for each in delays if each.container == container.name)
        if instances[1:] and _taken_along(case, container, instances[0]):
            lines = instances[1].lines[:1]
            findings.append(
                fail(f'"{container.name}" was restarted {at_lines(lines)}; only others had exited.', *lines)
            )
    least = int(case.number("min_delays", MIN_DELAYS))
    if not findings and (len(seen) < 2 or max(seen.values()) < least):
        counts = " and ".join(f'{count(number, "delay")} of "{name}"' for name, number in seen.items()) or "nothing"
        sentence = f"{counts} seen, {least} of one container beside another needed: {why_it_ended(case)}."
        findings.append(inconclusive(sentence))
    return Checked(findings=tuple(findings), facts=checked.facts)


def _taken_along(case: Case, container: Container, first: Instance) -> bool:
    """Whether it was ended though neither its own program, nor a probe, a rule or a change of the pod did."""
    killed = was_killed(case, container.name, 0, first)
    return killed and not container.killing_probes and not case.restarts_all and not case.is_changed(container.name)


def _counts(delay: MeasuredDelay) -> bool:
    """Whether it is a delay that was seen and not free."""
    return delay.shortest is not None and delay.due.delay_s > 0


def judged(
    case: Case,
    delays: Iterable[MeasuredDelay],
    *,
    early: bool = True,
    late: bool = True,
    missing: bool = True,
    least: int | None = None,
    what: str = "delay",
    rest: str = "",
    counts: Callable[[MeasuredDelay], bool] = _counts,
) -> Checked:
    """Both bounds of each, those that are missing, and the least number of them."""
    judged = tuple(delays)
    alike = late_alike(judged) if late else {}
    findings = [
        finding
        for each in judged
        for finding in _bounds(case, each, early=early, late=late, missing=missing, repeated=alike.get(key_of(each)))
    ]
    needed = int(case.number("min_delays", MIN_DELAYS)) if least is None else least
    seen = sum(1 for each in judged if each.shortest is not None and counts(each) and not _stepped(case, each))
    if seen < needed and not findings:
        findings.append(inconclusive(f"{count(seen, what, rest)} seen, {needed} needed: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts={"delays": [each.row for each in judged]})


def _stepped(case: Case, delay: MeasuredDelay) -> bool:
    """Whether the wall clock, by which the kubelet waits, jumped meanwhile: such a delay proves no PASS."""
    return delay.window_ns is not None and case.recording.clocks.step_within_ns(*delay.window_ns) > 0


def _bounds(
    case: Case, delay: MeasuredDelay, *, early: bool, late: bool, missing: bool, repeated: str | None
) -> Iterable[Finding]:
    too_soon = too_early(case, delay) if early else None
    if too_soon is not None:
        yield too_soon
    elif late:
        slow = None if awaits_init(case, delay) else too_late(case, delay, repeated=repeated)
        overdue = slow or (missing_restart(case, delay, delay.due.reason) if missing else None)
        if overdue is not None:
            yield overdue
