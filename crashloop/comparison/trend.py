"""Figures of many runs over time, their scatter among equal runs, and whether the newest ones depart from it; and their document.

Theory of operation. Runs of one suite, load, cluster and host are equal but for their day, so their differences are the scatter
of the measurement (A/A). Median and scatter are of the runs before (1.4826 x median absolute deviation), so a single bad run
moves neither; a scatter below 1 % of the median counts as 1 %. A *jump* is a newest run that is more than six scatters off; a
*drift* is five newest runs on one side of the median, and their own median more than two scatters off. With fewer runs before
than eight nothing is judged. Of normally distributed runs without a change, about one figure in a hundred departs.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from statistics import median

import msgspec

from crashloop.comparison.side import JudgedRun, key_of
from crashloop.comparison.values import COMPARED, JudgedStressRun
from crashloop.report.document import Badge, Cell, Document, Headline, Medium, Pairs, Paragraph, Row, Section, Table
from crashloop.report.results import RunResults
from crashloop.report.standing import Standing
from crashloop.report.stress.results import SUITE, Comparison, StageResult, run_results
from crashloop.report.text import counted
from crashloop.spec.scenario import Mode

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
    """The output of `crashloop compare --by time --json`."""

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


NOT_PASSED = (Standing.FAIL, Standing.ERROR, Standing.INCONCLUSIVE)


def trend_of_conformance(run: JudgedRun) -> TrendRun:
    """Outcomes, lateness of restarts by the kubelet's own timer, and the duration of the run."""
    results = run.results
    figures = _outcomes(results.counts) | {"duration_s": (results.finished - results.started).total_seconds()}
    late = [
        delay.created_s - delay.due_s
        for curve in results.curves
        if curve.mode == Mode.NATURAL
        for delay in curve.delays
        if delay.created_s is not None and not delay.alternatives
    ]
    if late:
        figures["lateness_p50_s"] = median(late)
    return TrendRun(
        run=results.run,
        started=results.started,
        key=TrendKey(suite=results.suite, load=results.scope, system=str(key_of(run)), host=_host(results)),
        figures=figures,
    )


def trend_of_stress(run: JudgedStressRun) -> TrendRun:
    """Outcomes, the key figures of every stage with crashing pods, and what equal arms seemed to differ by (A/A)."""
    results = run.results
    return TrendRun(
        run=results.run,
        started=results.started,
        key=TrendKey(suite=SUITE, load=results.profile, system=str(run.key), host=_host(results)),
        figures=_outcomes(run_results(results).counts)
        | dict(_of_stages(results.stages))
        | dict(_of_equal_arms(results.comparisons)),
    )


def _outcomes(counts: Mapping[Standing, int]) -> dict[str, float]:
    return {"FAIL, ERROR or INCONCLUSIVE": float(sum(counts.get(each, 0) for each in NOT_PASSED))}


def _of_stages(stages: Iterable[StageResult]) -> Iterator[tuple[str, float]]:
    """Blocks of one stage as their median."""
    found: dict[str, list[float]] = defaultdict(list)
    for stage in stages:
        label = ", ".join(filter(None, (stage.name, stage.mix, stage.arm)))
        for name in COMPARED if stage.crashing_pods else ():
            value = stage.figures.get(name)
            if value is not None:
                found[f"{label}: {name}"].append(value)
    for name, values in found.items():
        yield name, median(values)


def _of_equal_arms(comparisons: Iterable[Comparison]) -> Iterator[tuple[str, float]]:
    """The primary effects between arms of one kubelet profile, as logarithms, and half of the intervals within the run."""
    for comparison in comparisons:
        for effect in comparison.effects if comparison.baseline == comparison.treatment else ():
            bounds = None if effect.ratio_interval is None else effect.ratio_interval.bounds
            if effect.primary and effect.ratio and bounds and bounds[0] > 0:
                label = ", ".join(filter(None, ("A/A", comparison.mix, effect.what)))
                yield f"{label}: log_ratio_percent", 100 * math.log(effect.ratio)
                yield f"{label}: half_interval_percent", 50 * math.log(bounds[1] / bounds[0])


def _host(results: RunResults) -> str:
    """Processor and number of CPUs, as far as they are known."""
    host = results.environment.get("host") or {}
    return f"{host.get('cpu_model') or 'unknown processor'}, {host.get('cpus') or '?'} CPUs"


_BARS = "▁▂▃▄▅▆▇█"
_SHOWN = 20
_HEADER = ("Outcome", "Figure", "Runs", "Oldest to newest", "Median before", "Scatter", "Newest")
_TONES = {
    Departure.JUMP: Standing.FAIL,
    Departure.DRIFT: Standing.FAIL,
    Departure.NONE: Standing.PASS,
    Departure.UNKNOWN: Standing.SKIPPED,
}


def trend_document(trend: Trend) -> Document:
    """A section per key."""
    return Document(
        title="crashloop compare --by time",
        kicker="crashloop compare --by time",
        headline=_headline(trend),
        exit_code=int(bool(trend.departed)),
        sections=tuple(_section(number, group) for number, group in enumerate(trend.groups)),
        origin=f"Written by crashloop compare --by time ({trend.format}).",
        data="the output of --json",
    )


def _headline(trend: Trend) -> Headline:
    runs = sum(len(each.runs) for each in trend.groups)
    judged = [line for each in trend.groups for line in each.lines if line.departure is not Departure.UNKNOWN]
    meaning = (
        f"{counted(runs, 'run')} of {counted(len(trend.groups), 'kind')}, {counted(len(judged), 'figure')} judged."
    )
    if trend.departed:
        return Headline(
            Standing.FAIL,
            f"{counted(len(trend.departed), 'departure')} from the runs before.",
            meaning,
            "Runs of one kind are equal but for their day: see what changed on the host or in what was tested.",
            label="DRIFT",
        )
    if not judged:
        return Headline(
            Standing.INCONCLUSIVE,
            f"Nothing was judged: no kind of run has {MIN_BEFORE} runs before its newest.",
            meaning,
            label="TOO FEW RUNS",
        )
    return Headline(Standing.PASS, "No figure departs from the runs before.", meaning, label="STEADY")


def _section(number: int, group: TrendGroup) -> Section:
    alarms_first = sorted(group.lines, key=lambda each: each.departure not in (Departure.JUMP, Departure.DRIFT))
    runs = Pairs(tuple((str(place), run) for place, run in enumerate(group.runs, start=1)), Medium.PAGE)
    lines = Table(_HEADER, tuple(map(_row, alarms_first)), look="plain")
    few = Paragraph(f"A figure is judged from {MIN_BEFORE + 1} runs on.", "note", Medium.TEXT)
    return Section(f"kind-{number}", str(group.key), (lines, runs, *((few,) if len(group.runs) <= MIN_BEFORE else ())))


def _row(line: TrendLine) -> Row:
    tone = _TONES[line.departure]
    name = "steady" if line.departure is Departure.NONE else line.departure.value
    values = (
        str(len(line.points)),
        sparkline(line),
        f"{line.median:.4g}",
        _scatter_in_words(line),
        f"{line.newest:.4g}",
    )
    return Row((Cell((Badge.of(tone, name),)), Cell(line.figure), *map(Cell, values)), tone)


def _scatter_in_words(line: TrendLine) -> str:
    """In percent of the median; of a figure in percent, whose median may be 0, in that unit."""
    if line.scatter is not None and line.figure.endswith("_percent"):
        return f"± {line.scatter:.2g}"
    return "–" if line.scatter_share is None else f"{100 * line.scatter_share:.1f} %"


def sparkline(line: TrendLine) -> str:
    """The newest points as bars between the lowest and the highest of them."""
    values = [each.value for each in line.points[-_SHOWN:]]
    low, high = min(values), max(values)
    if low == high:
        return _BARS[0] * len(values)
    return "".join(_BARS[round((each - low) / (high - low) * (len(_BARS) - 1))] for each in values)
