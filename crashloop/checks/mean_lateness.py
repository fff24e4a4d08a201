"""Checkers of the lateness of many restarts together: its mean, and whether it grows with the delay.

Theory of operation. Updates of an annotated pod make the kubelet look at it at random times, 0.7 to 1.3 s apart. So the
lateness of a restart does not depend on its delay, and that of many restarts has a mean and a slope over the delay, each with
an interval of 95 % (least squares, Student's t). A curve that is longer by a hundredth hides within the bounds of each single
delay and shows in the slope.
"""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean, linear_regression, stdev
from typing import NamedTuple

from crashloop.checks.case import Case
from crashloop.checks.evidence import why_they_ended
from crashloop.checks.finding import Checked, Finding, fail_unless, inconclusive
from crashloop.checks.measured_delay import all_delays
from crashloop.checks.text import count, seconds
from crashloop.model import student

MIN_DELAYS = 8
CONFIDENCE = 0.95
ESTIMATE = "estimate"
"""Key of `Checked.facts`: the value in words."""


class Late(NamedTuple):
    """A restart: what was due, by how much it was later, and the most that its bound and the shown stalls account for."""

    due_s: float
    late_s: float
    bound_s: float
    held_s: float


class Estimate(NamedTuple):
    """A value with its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} (95 % interval {self.low:.3g} to {self.high:.3g})"


def check_mean_lateness(cases: Sequence[Case]) -> Checked:
    """The mean share that lateness has of its bound MUST NOT be shown to exceed `most`. Needs min_delays (8) delays."""
    most = cases[0].number("most", 0.5)
    restarts = tuple(_lates(cases))
    shares = [each.late_s / each.bound_s for each in restarts]
    unheld = [max(each.late_s - each.held_s, 0.0) / each.bound_s for each in restarts]
    return _checked(
        cases, restarts, mean_of(shares), mean_of(unheld), most, "mean lateness as a share of the time allowed for it"
    )


def check_lateness_slope(cases: Sequence[Case]) -> Checked:
    """Lateness MUST NOT be shown to grow by more than `most` seconds per second of delay. Needs min_delays (8) delays."""
    most = cases[0].number("most", 0.005)
    restarts = tuple(_lates(cases))
    due_s = [each.due_s for each in restarts]
    whole = slope_of(due_s, [each.late_s for each in restarts])
    unheld = slope_of(due_s, [max(each.late_s - each.held_s, 0.0) for each in restarts])
    return _checked(cases, restarts, whole, unheld, most, "slope of lateness over the delay, in seconds per second")


def mean_of(values: Sequence[float]) -> Estimate | None:
    """None for less than two values."""
    freedom = len(values) - 1
    if freedom < 1:
        return None
    return _estimate(fmean(values), stdev(values) / math.sqrt(len(values)), freedom)


def slope_of(across: Sequence[float], up: Sequence[float]) -> Estimate | None:
    """The slope of the line through the points; None for less than three, or if all lie above each other."""
    freedom = len(across) - 2
    if freedom < 1 or min(across) == max(across):
        return None
    slope, base = linear_regression(across, up)
    rest = sum((y - base - slope * x) ** 2 for x, y in zip(across, up, strict=True))
    spread = stdev(across) * math.sqrt(len(across) - 1)
    return _estimate(slope, math.sqrt(rest / freedom) / spread, freedom)


def _estimate(value: float, error: float, freedom: int) -> Estimate:
    margin = student.quantile((1 + CONFIDENCE) / 2, freedom) * error
    return Estimate(value, value - margin, value + margin)


def _lates(cases: Sequence[Case]) -> Iterator[Late]:
    """The restarts after a delay whose create was seen."""
    for case in cases:
        for delay in all_delays(case):
            due = delay.due
            if delay.to_create is not None and due.delay_s > 0 and not due.alternatives:
                late_s = delay.to_create.seconds - due.delay_s
                yield Late(due.delay_s, late_s, due.latest_s - due.delay_s, delay.row["stalled_s"])


def _checked(
    cases: Sequence[Case],
    restarts: Sequence[Late],
    seen: Estimate | None,
    unheld: Estimate | None,
    most: float,
    what: str,
) -> Checked:
    needed = int(cases[0].number("min_delays", MIN_DELAYS))
    if len(restarts) < needed or seen is None:
        few = f"{count(len(restarts), 'delay')} of various lengths seen, {needed} needed"
        return Checked(findings=(inconclusive(f"{few}: {why_they_ended(cases)}."),), facts={})
    facts = {
        ESTIMATE: f"{what}: {seen} in {count(len(restarts), 'restart')}",
        "value": seen.value,
        "low": seen.low,
        "high": seen.high,
    }
    return Checked(findings=tuple(_beyond(restarts, seen, unheld, most, what)), facts=facts)


def _beyond(
    restarts: Sequence[Late], seen: Estimate, unheld: Estimate | None, most: float, what: str
) -> Iterator[Finding]:
    if seen.low <= most:
        return
    held_s = sum(each.held_s for each in restarts)
    excused = unheld is not None and unheld.low <= most
    doubt = f"The host held restarts up for {seconds(held_s)} in all, which explains it" if excused else None
    yield fail_unless(doubt, f"the {what} is {seen} in {len(restarts)} restarts; {most:g} is the most.")
