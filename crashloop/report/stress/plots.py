"""Plots of a stress run. Geometry only; svg.py renders them.

Related plots share their axes (small multiples): one row per quantity, one plot per node.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Self

from crashloop.report.scale import Scale, scale_for
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
        *(axes.row(what, what, _labelled(results, f"{_HELD}{what}: ")) for what in _held(results)),
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
        return self.framed(plot._replace(target=_target(series, scale)), scale)

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
        target = _target(dots, scale)
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


def _target(of: Series | Dots, scale: Scale) -> tuple[float, str] | None:
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


def _held(results: StressResults) -> list[str]:
    """What gauges count whose growth is judged."""
    names = (each.name.removeprefix(_HELD) for each in results.series if each.name.startswith(_HELD))
    return list(dict.fromkeys(name.partition(": ")[0] for name in names))


def _of_whom(series: Series) -> str:
    return "kubelet" if series.node else "all, at the API server"


def _all_points(results: StressResults) -> Iterable[tuple[Point, ...]]:
    yield from (each.points for each in results.series if each.points)
    yield from (each.points for each in results.dots if each.points)
