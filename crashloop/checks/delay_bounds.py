"""Compares one delay with its two bounds. The lower one is exact; recorded stalls of the host extend the upper one."""

import msgspec

from crashloop.checks.case import Case
from crashloop.checks.excuse import excuse
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.checks.measured_delay import MeasuredDelay
from crashloop.checks.text import at_lines, seconds
from crashloop.history.event import Channel
from crashloop.history.stamps import Span
from crashloop.model.backoff import Due
from crashloop.model.lateness import START_SHARE_S, USUAL_START_S


def too_early(case: Case, delay: MeasuredDelay) -> Finding | None:
    """A start, or a create, before the delay due had passed: `start - exit >= due`, exact but for the channel's resolution.

    Where the model leaves several windows open, one before all of them.
    """
    shortest, soonest = delay.shortest, delay.soonest
    if shortest is None or soonest is None or _open_windows(delay, soonest):
        return None
    # What users see is the start; the create is named where the start alone would not have been too early.
    verb, seen = ("came", shortest) if not _open_windows(delay, shortest) else ("was created", soonest)
    least = min(delay.due.windows, key=lambda due: due.delay_s)
    came = (
        f"{delay.name} {verb} {seconds(seen.seconds, unlike=least.delay_s)} after the exit "
        f"{at_lines(seen.lines)}; {seconds(least.delay_s)} was due: {least.reason}."
    )
    stepped_s = _stepped_s(case, delay)
    if stepped_s >= least.delay_s - seen.seconds:
        return inconclusive(f"{came} The wall clock jumped by {seconds(stepped_s)} meanwhile.", *seen.lines)
    return fail(came, *seen.lines)


def _open_windows(delay: MeasuredDelay, seen: Span) -> tuple[Due, ...]:
    """The windows that may have begun by the end of that span."""
    due, longest_ns = delay.due, seen.longest_ns
    if not due.alternatives:
        return (due,) if round(due.delay_s * 1e9) <= longest_ns else ()
    return tuple(each for each in due.windows if round(each.delay_s * 1e9) <= longest_ns)


class Lateness(msgspec.Struct, frozen=True, kw_only=True):
    """A create, or where none was seen a start, after the last moment that the model allows."""

    due: Due
    """The window it was late for."""
    taken: Span
    verb: str
    excess_s: float
    allowance_s: float
    """What of the excess the start itself may have taken, where no create was seen."""


def lateness(delay: MeasuredDelay) -> Lateness | None:
    """By how much a restart was later than the kubelet's own retry allows; None if it was not.

    Where the model leaves several windows open, a create after the last of those that had begun.
    """
    shortest, soonest = delay.shortest, delay.soonest
    begun = _open_windows(delay, soonest) if soonest else ()
    if shortest is None or not begun:
        return None
    due = begun[0] if len(begun) == 1 else max(begun, key=lambda each: each.latest_s)
    taken, verb, allowance_s, tolerance_s = delay.to_create, "was created", 0.0, 0.0
    if taken is None:
        taken, verb, allowance_s = shortest, "came", START_SHARE_S
        tolerance_s = 0.0 if Channel.RUNTIME in delay.pod.channels else USUAL_START_S
    excess_s = taken.seconds - due.latest_s
    if excess_s - tolerance_s < 1e-9:
        return None
    return Lateness(due=due, taken=taken, verb=verb, excess_s=excess_s, allowance_s=allowance_s)


def too_late(case: Case, delay: MeasuredDelay, *, repeated: str | None = None) -> Finding | None:
    """A create by the runtime later than the kubelet's own retry allows, beyond what the host held up.

    `repeated`: the sentence that says so where delays of the same length are late by the same again and again.
    """
    late = lateness(delay)
    if late is None:
        return None
    due, lines = late.due, late.taken.lines
    seen = (
        f"{delay.name} {late.verb} {seconds(late.taken.seconds, unlike=due.latest_s)} after the exit {at_lines(lines)}; "
        f"{seconds(due.delay_s)} was due, and {seconds(due.latest_s)} at the latest: {due.reason}."
    )
    if late.excess_s <= late.allowance_s:
        share = f"{seconds(late.allowance_s)} of it may be the start's own time"
        return inconclusive(f"{seen} The runtime's create was not seen, and {share}.", *lines)
    asked_s = late.excess_s - late.allowance_s
    doubt = excuse(case, delay.window_ns, due.delay_s, asked_s)
    if doubt is not None and repeated is not None:
        doubt = excuse(case, delay.window_ns, due.delay_s, asked_s, repeated=True)
        seen = seen if doubt else f"{seen} {repeated}"
    return fail_unless(doubt, seen, *lines)


def _stepped_s(case: Case, delay: MeasuredDelay) -> float:
    window_ns = delay.window_ns
    return case.recording.clocks.step_within_ns(*window_ns) / 1e9 if window_ns else 0.0
