"""Figures of many runs over time, their scatter among equal runs, and whether the newest ones depart from it. Pure.

Theory of operation. Runs of one suite, load, cluster and host are equal but for their day, so their differences are the scatter
of the measurement (A/A). Median and scatter are of the runs before (1.4826 x median absolute deviation), so a single bad run
moves neither; a scatter below 1 % of the median counts as 1 %. A *jump* is a newest run that is more than six scatters off; a
*drift* is five newest runs on one side of the median, and their own median more than two scatters off. With fewer runs before
than eight nothing is judged. Of normally distributed runs without a change, about one figure in a hundred departs.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from statistics import median

import msgspec

TREND_FORMAT = "crashloop.trend/1"
MIN_BEFORE, MOST_BEFORE = 8, 20
"""Runs before the newest that are compared with it: the least, and the most."""
NEWEST = 5
"""Runs of a drift."""
JUMP, DRIFT = 6.0, 2.0
"""In scatters."""
LEAST_SCATTER = 0.01
"""Of the median: equal values have no scatter, and the next digit is no departure."""
_NORMAL = 1.4826


class TrendKey(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """Runs of one key are equal but for their day."""

    suite: str
    load: str
    """Name of the stress profile, or the scope."""
    system: str
    """Provider, version and kubelet."""
    host: str

    def __str__(self) -> str:
        return f"{self.suite} {self.load}: {self.system}; {self.host}"


class TrendRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run with its figures, by name."""

    run: str
    started: datetime
    key: TrendKey
    figures: Mapping[str, float]


class Departure(StrEnum):
    """How the newest runs depart from those before."""

    NONE = "none"
    JUMP = "jump"
    DRIFT = "drift"
    UNKNOWN = "too few runs"


class TrendPoint(msgspec.Struct, frozen=True):
    """The figure of one run."""

    run: str
    value: float


class TrendLine(msgspec.Struct, frozen=True, kw_only=True):
    """One figure over the runs of a key, oldest first."""

    figure: str
    points: tuple[TrendPoint, ...]
    median: float
    """Of the runs before the newest; of all, while these are too few."""
    scatter: float | None
    """Of the same runs, in the figure's unit; None with fewer than two."""
    departure: Departure

    @property
    def newest(self) -> float:
        return self.points[-1].value

    @property
    def scatter_share(self) -> float | None:
        """Of the median."""
        return None if self.scatter is None or not self.median else self.scatter / abs(self.median)


class TrendGroup(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of one key."""

    key: TrendKey
    runs: tuple[str, ...]
    """Oldest first."""
    lines: tuple[TrendLine, ...]


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `crashloop trend --json`."""

    format: str = TREND_FORMAT
    groups: tuple[TrendGroup, ...]

    @property
    def departed(self) -> tuple[tuple[TrendKey, TrendLine], ...]:
        """The alarms."""
        alarms = (Departure.JUMP, Departure.DRIFT)
        return tuple((each.key, line) for each in self.groups for line in each.lines if line.departure in alarms)


def trend_of(runs: Iterable[TrendRun]) -> Trend:
    """Runs by key, in the order of their begin."""
    by_key: dict[TrendKey, list[TrendRun]] = defaultdict(list)
    for run in sorted(runs, key=lambda each: each.started):
        by_key[run.key].append(run)
    return Trend(groups=tuple(_group(key, by_key[key]) for key in sorted(by_key)))


def _group(key: TrendKey, runs: Sequence[TrendRun]) -> TrendGroup:
    names = dict.fromkeys(name for run in runs for name in run.figures)
    lines = (
        line_of(name, [TrendPoint(run.run, run.figures[name]) for run in runs if name in run.figures]) for name in names
    )
    return TrendGroup(key=key, runs=tuple(each.run for each in runs), lines=tuple(lines))


def line_of(figure: str, points: Sequence[TrendPoint]) -> TrendLine:
    """Points oldest first, one or more."""
    values = [each.value for each in points]
    before = values[:-1][-MOST_BEFORE:]
    known = before if len(before) >= MIN_BEFORE else values
    return TrendLine(
        figure=figure,
        points=tuple(points),
        median=median(known),
        scatter=_scatter(known) if len(known) > 1 else None,
        departure=_departure(values),
    )


def _departure(values: Sequence[float]) -> Departure:
    if len(values) <= MIN_BEFORE:
        return Departure.UNKNOWN
    if _off(values[-1:], values[:-1], JUMP):
        return Departure.JUMP
    newest, before = values[-NEWEST:], values[:-NEWEST]
    if len(before) >= MIN_BEFORE and _off(newest, before, DRIFT):
        return Departure.DRIFT
    return Departure.NONE


def _off(newest: Sequence[float], before: Sequence[float], scatters: float) -> bool:
    """Whether all of them lie on one side of the runs before, and their median by more than so many scatters."""
    known = before[-MOST_BEFORE:]
    centre, scatter = median(known), _scatter(known)
    one_side = all(each > centre for each in newest) or all(each < centre for each in newest)
    return one_side and abs(median(newest) - centre) > scatters * scatter


def _scatter(values: Sequence[float]) -> float:
    centre = median(values)
    return max(_NORMAL * median(abs(each - centre) for each in values), LEAST_SCATTER * abs(centre))
