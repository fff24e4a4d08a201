"""Charts of a stress run: over time, against the number of crashing pods, and delays by restart.

Related charts share their axes (small multiples): one row per quantity, one chart per node.

Against pods it is seen where restarts stop growing with them: one dot per stage with its interval by what varied within it, a
line per arm through the medians of every number, and for rates the line of proportionality to the smallest number. They part
at the knee.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple, Self

from crashloop.report.chart import AREA, Band, Chart, Line, Point, Scale, scale_for
from crashloop.report.stress.results import Dots, LoadCurve, Series, StageResult, StressResults
from crashloop.slo.text import number

NO_NODE = "control plane and harness"
_LATENCY = "latency: "
_HELD = "held, "


class Row(NamedTuple):
    """Small multiples: one quantity on every node."""

    title: str
    charts: tuple[Chart, ...]


def rows(results: StressResults) -> tuple[Row, ...]:
    """All charts of a run over time."""
    axes = Axes.of(results)
    every = (
        axes.row("restarts per second", "restarts/s", _labelled(results, "restarts")),
        axes.dots_row("start-up of healthy pods", results.dots),
        axes.dots_row("restart lateness", results.dots),
        *axes.latency_rows([each for _, each in _labelled(results, _LATENCY)]),
        axes.row("CPU (cores)", "cores", _labelled(results, "CPU: ")),
        axes.row(
            "API requests per second",
            "requests/s",
            [(_of_whom(each), each) for _, each in _labelled(results, "requests")],
        ),
        axes.row("pods", "pods", _labelled(results, "pods")),
        *(axes.row(what, what, _labelled(results, f"{_HELD}{what}: ")) for what in _held_quantities(results)),
    )
    return tuple(each for each in every if each.charts)


class Axes:
    """The time axis that all charts share."""

    @classmethod
    def of(cls, results: StressResults) -> Self:
        ends = [each.to_s for each in results.stages] + [points[-1][0] for points in _all_points(results)]
        return cls(max(ends, default=1.0), results.stages)

    def __init__(self, long_s: float, stages: Iterable[StageResult]) -> None:
        self._across = Scale(max(long_s, 1.0))
        self._bands = tuple(map(_band, stages))

    def row(self, title: str, unit: str, series: Sequence[tuple[str, Series]]) -> Row:
        """Lines: one chart a node."""
        scale = scale_for((), (value for _, each in series for _, value in each.points))
        nodes = dict.fromkeys(each.node for _, each in series)
        return Row(title, tuple(self._lines(title, unit, node, series, scale) for node in nodes))

    def dots_row(self, title: str, dots: Iterable[Dots]) -> Row:
        """Single events: one chart a node."""
        found = [each for each in dots if each.name == title]
        scale = _scale_with_targets(found)
        return Row(f"{title} (s)", tuple(self._dots(each, scale) for each in found))

    def latency_rows(self, series: Sequence[Series]) -> Iterator[Row]:
        """Percentiles from scrape to scrape, with their targets: one row per quantity."""
        for name in dict.fromkeys(each.name for each in series):
            found = [each for each in series if each.name == name]
            title = f"{name.removeprefix(_LATENCY)} ({found[0].unit})"
            scale = _scale_with_targets(found)
            yield Row(title, tuple(self._latency(title, each, scale) for each in found))

    def _latency(self, title: str, series: Series, scale: Scale) -> Chart:
        highest = max(value for _, value in series.points)
        more = "more than " if series.at_most is not None and highest >= series.at_most else ""
        alternative = f"from scrape to scrape, up to {more}{number(highest)} {series.unit}"
        if series.target is not None:
            beyond = sum(1 for _, value in series.points if value > series.target)
            alternative += f"; {beyond} of {len(series.points)} beyond the target of {series.slo}"
        chart = self.chart(title, alternative, scale, node=series.node or NO_NODE, unit=series.unit)
        return chart._replace(target=_target_line(series), lines=(Line(series.name, series.points),))

    def _lines(self, title: str, unit: str, node: str, series: Sequence[tuple[str, Series]], scale: Scale) -> Chart:
        own = [(name, each) for name, each in series if each.node == node]
        alternative = "; ".join(
            f"{'' if len(own) == 1 else f'{name} '}up to {number(max(v for _, v in each.points))} {unit}"
            for name, each in own
        )
        chart = self.chart(title, alternative, scale, node=node or NO_NODE, unit=unit)
        return chart._replace(lines=tuple(Line(name, each.points) for name, each in own))

    def _dots(self, dots: Dots, scale: Scale) -> Chart:
        placed = tuple((at, value, dots.target is not None and value > dots.target) for at, value in dots.points)
        highest, every = max(value for _, value in dots.points), max(dots.samples, len(placed))
        alternative = f"{_of_all(len(placed), every)} shown, up to {number(highest)} {dots.unit}"
        if dots.target is not None:
            alternative += f"; {_of_all(dots.missed, every)} beyond the target of {dots.slo}"
        chart = self.chart(dots.name, alternative, scale, node=dots.node or NO_NODE, unit=dots.unit)
        return chart._replace(dots=placed, target=_target_line(dots))

    def chart(
        self, title: str, alternative: str, up: Scale, *, node: str = "", unit: str, area: int = AREA, heading: str = ""
    ) -> Chart:
        """A chart with its axes and the stages, and without values."""
        return Chart(
            title,
            alternative,
            self._across,
            up,
            node=node,
            unit=unit,
            area=area,
            heading=heading,
            bands=self._bands,
            x_ticks=tuple((at_s, f"{at_s:g} s") for at_s in self._across.ticks(8)),
            y_ticks=tuple((value, f"{value:,g}") for value in up.ticks(max(3, area // 20))),
            is_read=up.floor is None,
        )


def _band(stage: StageResult) -> Band:
    kind = stage.arm or ("storm" if stage.name == "storm" else "calm")
    return Band(stage.from_s, stage.to_s, " ".join(filter(None, (stage.mix or stage.name, stage.arm))), kind)


def _scale_with_targets(found: Iterable[Series | Dots]) -> Scale:
    return scale_for((), (value for each in found for value in (*(v for _, v in each.points), each.target or 0.0)))


def _target_line(of: Series | Dots) -> tuple[float, str] | None:
    return None if of.target is None else (of.target, f"target {of.target:g} {of.unit}")


def _of_all(number: int, every: int) -> str:
    return f"all {every:,}" if number == every and every else f"{number:,} of {every:,}"


def _labelled(results: StressResults, prefix: str) -> list[tuple[str, Series]]:
    """The series whose names begin so, each with the rest of its name, or with its unit."""
    return [
        (each.name.removeprefix(prefix) or each.unit, each) for each in results.series if each.name.startswith(prefix)
    ]


def _held_quantities(results: StressResults) -> list[str]:
    """What gauges count whose growth is judged."""
    names = (each.name.removeprefix(_HELD) for each in results.series if each.name.startswith(_HELD))
    return list(dict.fromkeys(name.partition(": ")[0] for name in names))


def _of_whom(series: Series) -> str:
    return "kubelet" if series.node else "all, at the API server"


def _all_points(results: StressResults) -> Iterable[tuple[Point, ...]]:
    yield from (each.points for each in results.series if each.points)
    yield from (each.points for each in results.dots if each.points)


STORM_STAGE = "storm"
"""Stages of that name count."""
LEAST_NUMBERS_OF_PODS = 3
"""Fewest different numbers of pods for a plot."""
AGAINST_PODS = "Against the number of crashing pods"


class _FigureAgainstPods(NamedTuple):
    title: str
    unit: str
    lines: Mapping[str, str]
    """Figure of a stage by its name in the legend."""
    in_proportion: bool = False
    """Whether it would grow with the pods without a limit."""
    factor: float = 1.0


_FIGURES_AGAINST_PODS = (
    _FigureAgainstPods("restarts per second", "restarts/s", {"restarts/s": "restarts_per_s"}, in_proportion=True),
    _FigureAgainstPods("restart lateness (s)", "s", {"p50": "lateness_p50_s", "p99": "lateness_p99_s"}),
    _FigureAgainstPods("host CPU busy (%)", "%", {"host CPU busy": "host_busy_share"}, factor=100.0),
)
PROPORTIONAL = "in proportion to the fewest pods"


def against_pods(results: StressResults) -> Row:
    """Restarts a second, lateness and CPU against crashing pods; no charts if storms had fewer than three different numbers."""
    storms = [each for each in results.stages if each.name == STORM_STAGE and each.crashing_pods]
    if len({each.crashing_pods for each in storms}) < LEAST_NUMBERS_OF_PODS:
        return Row(AGAINST_PODS, ())
    charts = (_chart_against_pods(figure, storms) for figure in _FIGURES_AGAINST_PODS)
    return Row(AGAINST_PODS, tuple(chart for chart in charts if chart is not None))


def _chart_against_pods(figure: _FigureAgainstPods, storms: Sequence[StageResult]) -> Chart | None:
    values = {
        f"{arm} {label}".strip(): found
        for arm in dict.fromkeys(each.arm for each in storms)
        for label, name in figure.lines.items()
        if (found := _values_by_pods([each for each in storms if each.arm == arm], name, figure.factor))
    }
    if not values:
        return None
    across = Scale(1.05 * max(each.crashing_pods for each in storms))
    intervals = tuple(
        (stage.crashing_pods, figure.factor * bounds[0], figure.factor * bounds[1])
        for name in figure.lines.values()
        for stage in storms
        if (interval := stage.intervals.get(name)) is not None and (bounds := interval.bounds) is not None
    )
    up = scale_for((), [*(value for each in values.values() for _, value in each), *(high for _, _, high in intervals)])
    lines = [Line(label, _medians(found)) for label, found in values.items()]
    if figure.in_proportion:
        lines.extend(_proportional(found, across, up) for found in values.values())
    return Chart(
        figure.title,
        "; ".join(_medians_in_words(label, _medians(found)) for label, found in values.items()),
        across,
        up,
        unit=figure.unit,
        lines=tuple(lines),
        dots=tuple((pods, value, False) for found in values.values() for pods, value in found),
        ranges=intervals,
        x_ticks=tuple((pods, f"{pods:g} pods" if pods else "0") for pods in across.ticks(7)),
        y_ticks=tuple((value, f"{value:g}") for value in up.ticks(5)),
    )


def _values_by_pods(storms: Sequence[StageResult], figure: str, factor: float) -> list[tuple[int, float]]:
    return [
        (stage.crashing_pods, factor * value) for stage in storms if (value := stage.figures.get(figure)) is not None
    ]


def _medians(found: Sequence[tuple[int, float]]) -> tuple[Point, ...]:
    """The median of the stages by number of pods."""
    numbers = sorted({pods for pods, _ in found})
    return tuple((number, median(value for pods, value in found if pods == number)) for number in numbers)


def _proportional(found: Sequence[tuple[int, float]], across: Scale, up: Scale) -> Line:
    """Its end at the edge of the picture."""
    pods, value = _medians(found)[0]
    slope = value / pods
    end = min(across.high, up.high / slope) if slope > 0 else across.high
    return Line(PROPORTIONAL, ((0.0, 0.0), (end, slope * end)))


def _medians_in_words(label: str, middles: Sequence[Point]) -> str:
    return f"{label} {', '.join(f'{number(value)} at {pods:g}' for pods, value in middles)} pods"


def delay_charts(curves: Sequence[LoadCurve]) -> tuple[tuple[str, Chart], ...]:
    """Delays by restart, one chart a node and mix with its name, all on one delay axis: due, median, nine tenths, extremes."""
    points = [point for curve in curves for point in curve.points]
    up = scale_for((point.due_s for point in points), (point.highest_s for point in points))
    return tuple((title := _curve_title(curve), _delay_chart(title, curve, up)) for curve in curves if curve.points)


def _curve_title(curve: LoadCurve) -> str:
    """Load, node, and kubelet profile."""
    return " · ".join(filter(None, (curve.stage, f"{curve.node} ({curve.profile})")))


def _delay_chart(title: str, curve: LoadCurve, up: Scale) -> Chart:
    placed = [(index + 0.5, each) for index, each in enumerate(curve.points)]
    last = curve.points[-1]
    return Chart(
        f"delays on {title}, seconds",
        f"{sum(each.samples for each in curve.points):,} delays of restarts {curve.points[0].restart} to {last.restart}; at "
        f"restart {last.restart}: {last.due_s:g} s due, p50 {last.p50_s:.2f} s, highest {last.highest_s:.2f} s",
        Scale(len(curve.points)),
        up,
        y_ticks=tuple((value, f"{value:g}") for value in up.ticks(6)),
        x_ticks=tuple((at, str(each.restart)) for at, each in placed[:: max(1, len(placed) // 15)]),
        ranges=tuple((at, each.lowest_s, each.highest_s) for at, each in placed),
        middles=tuple((at, each.p50_s, each.p90_s) for at, each in placed),
        dues=tuple((at, each.due_s) for at, each in placed),
        medians=tuple((at, each.p50_s) for at, each in placed),
        x_name="restart",
    )
