"""Plots of a stress run, over time and against the number of crashing pods. Geometry only; svg.py renders them.

Related plots share their axes (small multiples): one row per quantity, one plot per node.

Against pods it is seen where restarts stop growing with them: one dot per stage with its interval by what varied within it, a
line per arm through the medians of every number, and for rates the line of proportionality to the smallest number. They part
at the knee.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple, Self

from crashloop.report.picture import Scale, scale_for
from crashloop.report.stress.results import Dots, Point, Series, StageResult, StressResults
from crashloop.slo.text import number

WIDTH, HEIGHT = 560, 150
LEFT, RIGHT, TOP, BOTTOM = 40, 8, 18, 22
AREA = HEIGHT - TOP - BOTTOM
"""Height of what is drawn in, between the axes."""
NO_NODE = "control plane and harness"
_LATENCY = "latency: "
_HELD = "held, "


class Line(NamedTuple):
    """A line of a plot, in the units of the picture."""

    name: str
    path: tuple[Point, ...]


class Band(NamedTuple):
    """A stage, as an interval of the time axis."""

    x: float
    width: float
    label: str
    kind: str
    """Class: its arm, or whether it is a storm."""


class Plot(NamedTuple):
    """One plot. y grows downwards."""

    title: str
    node: str
    unit: str
    alternative: str
    """Its text alternative."""
    bands: tuple[Band, ...] = ()
    lines: tuple[Line, ...] = ()
    dots: tuple[tuple[float, float, bool], ...] = ()
    """x, y and whether the target is missed."""
    ranges: tuple[tuple[float, float, float], ...] = ()
    """x, and the interval in y of a repeated measurement."""
    target: tuple[float, str] | None = None
    """y of the SLO's target, and its label."""
    x_ticks: tuple[tuple[float, str], ...] = ()
    y_ticks: tuple[tuple[float, str], ...] = ()
    heading: str = ""
    """Of a panel among others of one subject."""
    area: int = AREA
    """Height between the axes."""
    downs: tuple[tuple[float, float], ...] = ()
    """x and width of the times in which a container was down."""
    kills: tuple[float, ...] = ()
    """x of its kills."""
    ends: tuple[float, float] | None = None
    """Seconds at the right end, and the value at the top, where both axes are linear from 0: a script reads values back."""


class Row(NamedTuple):
    """Small multiples: one quantity on every node."""

    title: str
    plots: tuple[Plot, ...]


def rows(results: StressResults) -> tuple[Row, ...]:
    """All plots of a run over time."""
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
    return tuple(each for each in every if each.plots)


class Axes:
    """The time axis that all plots share."""

    @classmethod
    def of(cls, results: StressResults) -> Self:
        ends = [each.to_s for each in results.stages] + [points[-1][0] for points in _all_points(results)]
        return cls(max(ends, default=1.0), results.stages)

    def __init__(self, long_s: float, stages: Iterable[StageResult]) -> None:
        self._long_s = max(long_s, 1.0)
        self._bands = tuple(self._band(each) for each in stages)

    def row(self, title: str, unit: str, series: Sequence[tuple[str, Series]]) -> Row:
        """Lines: one plot a node."""
        scale = scale_for((), (value for _, each in series for _, value in each.points))
        nodes = dict.fromkeys(each.node for _, each in series)
        return Row(title, tuple(self._lines(title, unit, node, series, scale) for node in nodes))

    def dots_row(self, title: str, dots: Iterable[Dots]) -> Row:
        """Single events: one plot a node."""
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

    def _latency(self, title: str, series: Series, scale: Scale) -> Plot:
        highest = max(value for _, value in series.points)
        more = "more than " if series.at_most is not None and highest >= series.at_most else ""
        alternative = f"from scrape to scrape, up to {more}{number(highest)} {series.unit}"
        if series.target is not None:
            beyond = sum(1 for _, value in series.points if value > series.target)
            alternative += f"; {beyond} of {len(series.points)} beyond the target of {series.slo}"
        plot = Plot(title, series.node, series.unit, alternative, lines=(self.line(series.name, series, scale),))
        return self.framed(plot._replace(target=_target_line(series, scale)), scale)

    def _lines(self, title: str, unit: str, node: str, series: Sequence[tuple[str, Series]], scale: Scale) -> Plot:
        own = [(name, each) for name, each in series if each.node == node]
        alternative = "; ".join(
            f"{'' if len(own) == 1 else f'{name} '}up to {number(max(v for _, v in each.points))} {unit}"
            for name, each in own
        )
        lines = tuple(self.line(name, each, scale) for name, each in own)
        return self.framed(Plot(title, node, unit, alternative, lines=lines), scale)

    def _dots(self, dots: Dots, scale: Scale) -> Plot:
        missed = [dots.target is not None and value > dots.target for _, value in dots.points]
        placed = tuple(
            (self.x(t), at_height(value, scale), bad) for (t, value), bad in zip(dots.points, missed, strict=True)
        )
        highest, every = max(value for _, value in dots.points), max(dots.samples, len(placed))
        alternative = f"{_of_all(len(placed), every)} shown, up to {number(highest)} {dots.unit}"
        if dots.target is not None:
            alternative += f"; {_of_all(dots.missed, every)} beyond the target of {dots.slo}"
        target = _target_line(dots, scale)
        return self.framed(Plot(dots.name, dots.node, dots.unit, alternative, dots=placed, target=target), scale)

    def line(self, name: str, series: Series, scale: Scale, area: int = AREA) -> Line:
        return Line(name, tuple((self.x(t), at_height(value, scale, area)) for t, value in series.points))

    def framed(self, plot: Plot, scale: Scale) -> Plot:
        """The plot with its axes and the stages."""
        return plot._replace(
            node=plot.node or NO_NODE,
            bands=self._bands,
            x_ticks=tuple((self.x(t), f"{t:g} s") for t in Scale(self._long_s).ticks(8)),
            y_ticks=tuple(
                (at_height(value, scale, plot.area), f"{value:,g}") for value in scale.ticks(max(3, plot.area // 20))
            ),
            ends=(self._long_s, scale.high) if scale.floor is None else None,
        )

    def x(self, t_s: float) -> float:
        return LEFT + min(max(t_s, 0.0), self._long_s) / self._long_s * (WIDTH - LEFT - RIGHT)

    def _band(self, stage: StageResult) -> Band:
        x = self.x(stage.from_s)
        kind = stage.arm or ("storm" if stage.name == "storm" else "calm")
        label = " ".join(filter(None, (stage.mix or stage.name, stage.arm)))
        return Band(x, self.x(stage.to_s) - x, label, kind)


def _scale_with_targets(found: Iterable[Series | Dots]) -> Scale:
    return scale_for((), (value for each in found for value in (*(v for _, v in each.points), each.target or 0.0)))


def _target_line(of: Series | Dots, scale: Scale) -> tuple[float, str] | None:
    return None if of.target is None else (at_height(of.target, scale), f"target {of.target:g} {of.unit}")


def _of_all(number: int, every: int) -> str:
    return f"all {every:,}" if number == every and every else f"{number:,} of {every:,}"


def at_height(value: float, scale: Scale, area: int = AREA) -> float:
    """y of a value."""
    return TOP + (1 - scale.at(value)) * area


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
    """Restarts a second, lateness and CPU against crashing pods; no plots if storms had fewer than three different numbers."""
    storms = [each for each in results.stages if each.name == STORM_STAGE and each.crashing_pods]
    if len({each.crashing_pods for each in storms}) < LEAST_NUMBERS_OF_PODS:
        return Row(AGAINST_PODS, ())
    plots = (_plot_against_pods(figure, storms) for figure in _FIGURES_AGAINST_PODS)
    return Row(AGAINST_PODS, tuple(plot for plot in plots if plot is not None))


def _plot_against_pods(figure: _FigureAgainstPods, storms: Sequence[StageResult]) -> Plot | None:
    values = {
        f"{arm} {label}".strip(): found
        for arm in dict.fromkeys(each.arm for each in storms)
        for label, name in figure.lines.items()
        if (found := _values_by_pods([each for each in storms if each.arm == arm], name, figure.factor))
    }
    if not values:
        return None
    across = Scale(1.05 * max(each.crashing_pods for each in storms))
    intervals = [
        (stage.crashing_pods, figure.factor * bounds[0], figure.factor * bounds[1])
        for name in figure.lines.values()
        for stage in storms
        if (interval := stage.intervals.get(name)) is not None and (bounds := interval.bounds) is not None
    ]
    up = scale_for((), [*(value for each in values.values() for _, value in each), *(high for _, _, high in intervals)])
    lines = [Line(label, _path_across(_medians(found), across, up)) for label, found in values.items()]
    if figure.in_proportion:
        lines.extend(_proportional(found, across, up) for found in values.values())
    return Plot(
        title=figure.title,
        node="",
        unit=figure.unit,
        lines=tuple(lines),
        dots=tuple(
            (_x_across(pods, across), at_height(value, up), False) for found in values.values() for pods, value in found
        ),
        ranges=tuple(
            (_x_across(pods, across), at_height(low, up), at_height(high, up)) for pods, low, high in intervals
        ),
        x_ticks=tuple((_x_across(pods, across), f"{pods:g} pods" if pods else "0") for pods in across.ticks(7)),
        y_ticks=tuple((at_height(value, up), f"{value:g}") for value in up.ticks(5)),
        alternative="; ".join(_medians_in_words(label, _medians(found)) for label, found in values.items()),
    )


def _values_by_pods(storms: Sequence[StageResult], figure: str, factor: float) -> list[tuple[int, float]]:
    return [
        (stage.crashing_pods, factor * value) for stage in storms if (value := stage.figures.get(figure)) is not None
    ]


def _medians(found: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """The median of the stages by number of pods."""
    numbers = sorted({pods for pods, _ in found})
    return [(number, median(value for pods, value in found if pods == number)) for number in numbers]


def _proportional(found: Sequence[tuple[int, float]], across: Scale, up: Scale) -> Line:
    """Its end at the edge of the picture."""
    pods, value = _medians(found)[0]
    slope = value / pods
    end = min(across.high, up.high / slope) if slope > 0 else across.high
    return Line(PROPORTIONAL, _path_across([(0, 0.0), (end, slope * end)], across, up))


def _path_across(points: Sequence[tuple[float, float]], across: Scale, up: Scale) -> tuple[tuple[float, float], ...]:
    return tuple((_x_across(pods, across), at_height(value, up)) for pods, value in points)


def _x_across(pods: float, across: Scale) -> float:
    return LEFT + across.at(pods) * (WIDTH - LEFT - RIGHT)


def _medians_in_words(label: str, middles: Sequence[tuple[int, float]]) -> str:
    return f"{label} {', '.join(f'{number(value)} at {pods}' for pods, value in middles)} pods"
