"""Compares one delay with its two bounds. The lower one is exact; recorded stalls of the host extend the upper one."""

from crashloop.checks.case import Case
from crashloop.checks.finding import Finding, fail, inconclusive
from crashloop.checks.measured_delay import MeasuredDelay
from crashloop.checks.text import at_lines, seconds
from crashloop.history.event import Channel
from crashloop.history.stamps import Span
from crashloop.model.backoff import Due
from crashloop.model.lateness import START_SHARE_S, USUAL_START_S
from crashloop.spec.scenario import Mode

POKE_EVERY_S = 1.0
"""How often the mode annotated patches; the model's bound allows for that."""


def too_early(case: Case, delay: MeasuredDelay) -> Finding | None:
    """A start before the delay due had passed: `start - exit >= due`, exact but for the channel's resolution.

    Where the model leaves several windows open, a start before all of them.
    """
    shortest = delay.shortest
    if shortest is None or _open_windows(delay, shortest):
        return None
    least = min(delay.due.windows, key=lambda due: due.delay_s)
    came = (
        f"{delay.name} came {seconds(shortest.seconds, unlike=least.delay_s)} after the exit "
        f"{at_lines(shortest.lines)}; {seconds(least.delay_s)} was due: {least.reason}."
    )
    stepped_s = _stepped_s(case, delay)
    if stepped_s >= least.delay_s - shortest.seconds:
        return inconclusive(f"{came} The wall clock jumped by {seconds(stepped_s)} meanwhile.", *shortest.lines)
    return fail(came, *shortest.lines)


def _open_windows(delay: MeasuredDelay, shortest: Span) -> tuple[Due, ...]:
    """The windows that may have begun when the start came."""
    due, longest_ns = delay.due, shortest.longest_ns
    if not due.alternatives:
        return (due,) if round(due.delay_s * 1e9) <= longest_ns else ()
    return tuple(each for each in due.windows if round(each.delay_s * 1e9) <= longest_ns)


def too_late(case: Case, delay: MeasuredDelay) -> Finding | None:
    """A create by the runtime later than the kubelet's own retry allows, beyond what the host held up.

    Where the model leaves several windows open, a create after the last of those that had begun.
    """
    shortest = delay.shortest
    begun = _open_windows(delay, shortest) if shortest else ()
    if shortest is None or not begun:
        return None
    last = begun[0] if len(begun) == 1 else max(begun, key=lambda due: due.latest_s)
    taken = delay.to_create
    if taken is not None:
        return _late_by(case, delay, last, taken, "was created", allowance_s=0.0)
    tolerance_s = 0.0 if Channel.RUNTIME in delay.pod.channels else USUAL_START_S
    return _late_by(case, delay, last, shortest, "came", allowance_s=START_SHARE_S, tolerance_s=tolerance_s)


def _late_by(
    case: Case, delay: MeasuredDelay, due: Due, taken: Span, verb: str, *, allowance_s: float, tolerance_s: float = 0.0
) -> Finding | None:
    excess_s = taken.seconds - due.latest_s
    if excess_s - tolerance_s < 1e-9:
        return None
    seen = (
        f"{delay.name} {verb} {seconds(taken.seconds, unlike=due.latest_s)} after the exit {at_lines(taken.lines)}; "
        f"{seconds(due.delay_s)} was due, and {seconds(due.latest_s)} at the latest: {due.reason}."
    )
    if excess_s <= allowance_s:
        doubt: str | None = (
            f"The runtime's create was not seen, and {seconds(allowance_s)} of it may be the start's own time"
        )
    else:
        doubt = excuse(case, delay.window_ns, excess_s - allowance_s)
    return fail(seen, *taken.lines) if doubt is None else inconclusive(f"{seen} {doubt}.", *taken.lines)


def excuse(case: Case, window_ns: tuple[int, int] | None, excess_s: float) -> str | None:
    """What other than the kubelet may have taken `excess_s` of that time; None if nothing."""
    if window_ns is None:
        return "No clock is common to its exit and its start"
    host, clocks = case.recording.host, case.recording.clocks
    if not host.covers(*window_ns):
        return "No heartbeat covers that time, so the host may have stood still"
    stalled_s = host.stalled_s(*window_ns)
    if stalled_s >= excess_s:
        return f"The host was stalled for {seconds(stalled_s)} meanwhile, as long as the excess or longer"
    untold_s = host.untold_s(*window_ns)
    if stalled_s + untold_s >= excess_s:
        return f"The host was stalled for {seconds(stalled_s)} meanwhile, and of the last {seconds(untold_s)} nothing is known"
    stepped_s = clocks.step_within_ns(*window_ns) / 1e9
    if stepped_s >= excess_s:
        return f"The wall clock jumped by {seconds(stepped_s)} meanwhile"
    return _not_poked(case, window_ns, excess_s) if case.scenario.mode is Mode.ANNOTATED else None


def _not_poked(case: Case, window_ns: tuple[int, int], excess_s: float) -> str | None:
    """In the mode annotated the kubelet owes the short bound only while something makes it look once a second."""
    pokes = case.recording.pokes
    if pokes is None or pokes.last_ns is None or pokes.longest_ns is None:
        return "The record of the patches that make the kubelet look is not complete"
    if pokes.first_ns - pokes.longest_ns > window_ns[0] or pokes.last_ns + pokes.longest_ns < window_ns[1]:
        return "The pod was not patched during the whole of that time"
    if pokes.longest_ns / 1e9 - POKE_EVERY_S >= excess_s:
        return f"Patches that make the kubelet look were up to {seconds(pokes.longest_ns / 1e9)} apart"
    return None


def _stepped_s(case: Case, delay: MeasuredDelay) -> float:
    window_ns = delay.window_ns
    return case.recording.clocks.step_within_ns(*window_ns) / 1e9 if window_ns else 0.0
