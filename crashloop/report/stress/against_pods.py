"""Figures of storms against the number of crashing pods: shows where restarts stop growing with pods. Geometry only.

One dot per stage with its interval by what varied within it, a line per arm through the medians of every number, and for
rates the line of proportionality to the smallest number: they part at the knee.
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from crashloop.report.scale import Scale, scale_for
from crashloop.report.stress.plots import LEFT, RIGHT, WIDTH, Line, Plot, Row, at_height
from crashloop.report.stress.results import StageResult, StressResults
from crashloop.slo.text import number

STORM = "storm"
"""Stages of that name count."""
LEAST_NUMBERS = 3
"""Fewest different numbers of pods for a plot."""
TITLE = "Against the number of crashing pods"


class _Figure(NamedTuple):
    title: str
    unit: str
    lines: Mapping[str, str]
    """Figure of a stage by its name in the legend."""
    in_proportion: bool = False
    """Whether it would grow with the pods without a limit."""
    factor: float = 1.0


_FIGURES = (
    _Figure("restarts per second", "restarts/s", {"restarts/s": "restarts_per_s"}, in_proportion=True),
    _Figure("restart lateness (s)", "s", {"p50": "lateness_p50_s", "p99": "lateness_p99_s"}),
    _Figure("host CPU busy (%)", "%", {"host CPU busy": "host_busy_share"}, factor=100.0),
)
PROPORTIONAL = "in proportion to the fewest pods"


def against_pods(results: StressResults) -> Row:
    """Restarts a second, lateness and CPU against crashing pods; no plots if storms had fewer than three different numbers."""
    storms = [each for each in results.stages if each.name == STORM and each.crashing_pods]
    if len({each.crashing_pods for each in storms}) < LEAST_NUMBERS:
        return Row(TITLE, ())
    plots = (_plot(figure, storms) for figure in _FIGURES)
    return Row(TITLE, tuple(plot for plot in plots if plot is not None))


def _plot(figure: _Figure, storms: Sequence[StageResult]) -> Plot | None:
    values = {
        f"{arm} {label}".strip(): found
        for arm in dict.fromkeys(each.arm for each in storms)
        for label, name in figure.lines.items()
        if (found := _values([each for each in storms if each.arm == arm], name, figure.factor))
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
    lines = [Line(label, _path(_middles(found), across, up)) for label, found in values.items()]
    if figure.in_proportion:
        lines.extend(_proportional(found, across, up) for found in values.values())
    return Plot(
        title=figure.title,
        node="",
        unit=figure.unit,
        lines=tuple(lines),
        dots=tuple(
            (_x(pods, across), at_height(value, up), False) for found in values.values() for pods, value in found
        ),
        ranges=tuple((_x(pods, across), at_height(low, up), at_height(high, up)) for pods, low, high in intervals),
        x_ticks=tuple((_x(pods, across), f"{pods:g} pods" if pods else "0") for pods in across.ticks(7)),
        y_ticks=tuple((at_height(value, up), f"{value:g}") for value in up.ticks(5)),
        alternative="; ".join(_in_words(label, _middles(found)) for label, found in values.items()),
    )


def _values(storms: Sequence[StageResult], figure: str, factor: float) -> list[tuple[int, float]]:
    return [
        (stage.crashing_pods, factor * value) for stage in storms if (value := stage.figures.get(figure)) is not None
    ]


def _middles(found: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """The median of the stages by number of pods."""
    numbers = sorted({pods for pods, _ in found})
    return [(number, median(value for pods, value in found if pods == number)) for number in numbers]


def _proportional(found: Sequence[tuple[int, float]], across: Scale, up: Scale) -> Line:
    """Its end at the edge of the picture."""
    pods, value = _middles(found)[0]
    slope = value / pods
    end = min(across.high, up.high / slope) if slope > 0 else across.high
    return Line(PROPORTIONAL, _path([(0, 0.0), (end, slope * end)], across, up))


def _path(points: Sequence[tuple[float, float]], across: Scale, up: Scale) -> tuple[tuple[float, float], ...]:
    return tuple((_x(pods, across), at_height(value, up)) for pods, value in points)


def _x(pods: float, across: Scale) -> float:
    return LEFT + across.at(pods) * (WIDTH - LEFT - RIGHT)


def _in_words(label: str, middles: Sequence[tuple[int, float]]) -> str:
    return f"{label} {', '.join(f'{number(value)} at {pods}' for pods, value in middles)} pods"
