"""Checkers of the lateness of many restarts together: its mean, and whether it grows with the delay.

Theory of operation. Updates of an annotated pod make the kubelet look at it at random times, 0.7 to 1.3 s apart. So the
lateness of a restart does not depend on its delay, and that of many restarts has a mean and a slope over the delay, each with
an interval of 95 % (least squares, Student's t). A curve that is longer by a few hundredths hides within the bounds of each
single delay and shows in the slope. What is beyond `most` but for a chance of `chance` counts, and only if it does so without
any one of the restarts: a single late one at the longest delay would bend the line.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, linear_regression, stdev
from typing import NamedTuple

from crashloop.checks.chance import CHANCE
from crashloop.checks.finding import Checked, fail_unless, inconclusive
from crashloop.model import student
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import why_they_ended
from crashloop.restarts.restart import restarts
from crashloop.words import count, seconds

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
    least: float
    """What it is at least, but for `CHANCE`."""

    def __str__(self) -> str:
        return f"{self.value:.3g} (95 % interval {self.low:.3g} to {self.high:.3g})"


Points = Sequence[tuple[float, float]]
Estimator = Callable[[Points], Estimate | None]


def check_mean_lateness(cases: Sequence[Case]) -> Checked:
    """The mean share that lateness has of its bound MUST NOT be shown to exceed `most`. Needs min_delays (8) delays."""
    what = "mean lateness as a share of the time allowed for it"
    return _checked(cases, _mean, what, cases[0].number("most", 0.5), lambda each: each.bound_s)


def check_lateness_slope(cases: Sequence[Case]) -> Checked:
    """Lateness MUST NOT be shown to grow by more than `most` seconds per second of delay. Needs min_delays (8) delays."""
    what = "slope of lateness over the delay, in seconds per second"
    return _checked(cases, line_through, what, cases[0].number("most", 0.005), lambda _: 1.0)


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
    least = value - student.quantile(1 - CHANCE, freedom) * error
    return Estimate(value, value - margin, value + margin, least)


def _mean(points: Points) -> Estimate | None:
    return mean_of([y for _, y in points])


def line_through(points: Points) -> Estimate | None:
    """The slope of the line through points."""
    return slope_of([x for x, _ in points], [y for _, y in points])


def least_without_any(points: Points, estimator: Estimator) -> float:
    """What the value is at least, whichever of the points is left out."""
    found = [estimator([*points[:number], *points[number + 1 :]]) for number in range(len(points))]
    return min(-math.inf if each is None else each.least for each in found)


def _lates(cases: Sequence[Case]) -> Iterator[Late]:
    """The restarts after a delay whose create was seen."""
    for case in cases:
        for delay in restarts(case):
            due = delay.due
            if delay.to_create is not None and due.delay_s > 0 and not due.alternatives:
                late_s = delay.to_create.seconds - due.delay_s
                yield Late(due.delay_s, late_s, due.latest_s - due.delay_s, delay.row["stalled_s"])


def _checked(
    cases: Sequence[Case], estimator: Estimator, what: str, most: float, scale: Callable[[Late], float]
) -> Checked:
    """What the value is, of lateness in parts of a scale, and whether it is beyond `most`."""
    restarts = tuple(_lates(cases))
    points = [(each.due_s, each.late_s / scale(each)) for each in restarts]
    needed, seen = int(cases[0].number("min_delays", MIN_DELAYS)), estimator(points)
    if len(restarts) < needed or seen is None:
        few = f"{count(len(restarts), 'delay')} of various lengths seen, {needed} needed"
        return Checked(findings=(inconclusive(f"{few}: {why_they_ended(cases)}."),), facts={})
    facts = {
        ESTIMATE: f"{what}: {seen} in {count(len(restarts), 'restart')}",
        "value": seen.value,
        "low": seen.low,
        "high": seen.high,
    }
    if least_without_any(points, estimator) <= most:
        return Checked(facts=facts)
    held_s = sum(each.held_s for each in restarts)
    unheld = [(each.due_s, max(each.late_s - each.held_s, 0.0) / scale(each)) for each in restarts]
    excused = least_without_any(unheld, estimator) <= most
    doubt = f"The host held restarts up for {seconds(held_s)} in all, which explains it" if excused else None
    sentence = f"the {what} is {seen} in {len(restarts)} restarts; {most:g} is the most."
    return Checked(findings=(fail_unless(doubt, sentence),), facts=facts)
