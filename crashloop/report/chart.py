"""Pictures of a report: axes with round values, numbers and text as SVG has them, the frame; and charts, drawn from their values.

A chart is data: what stands where in the picture, and its classes, is decided by `chart_svg` alone.
"""

import math
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from markupsafe import Markup, escape

from crashloop.report.text import printable

LOG_FROM_RATIO = 8
"""Due delays that span at least this factor are drawn by their logarithm: a doubling curve becomes a straight line."""

_LINEAR_LANE = 0.22
"""Share of a logarithmic axis from 0 to its floor, for free restarts and early ones."""


_MILLISECOND = 1e-3
"""Delays below it are drawn as 0."""


class Scale(NamedTuple):
    """An axis of delays in seconds from 0 to `high`; logarithmic from `floor` on unless that is None."""

    high: float
    floor: float | None = None

    def at(self, value: float) -> float:
        """Share of the axis below the value, 0 to 1; values beyond an end stand at that end."""
        inside = min(max(value, 0.0), self.high)
        if self.floor is None:
            return inside / self.high
        if inside <= self.floor:
            return _LINEAR_LANE * inside / self.floor
        above = math.log(inside / self.floor) / math.log(self.high / self.floor)
        return min(_LINEAR_LANE + (1 - _LINEAR_LANE) * above, 1.0)  # the sum may round to a little more than 1

    def ticks(self, at_most: int = 7) -> tuple[float, ...]:
        """Round values for the axis, 0 first; on a logarithmic one the floor and its doublings, if that is round."""
        if self.floor is None:
            return _linear_ticks(self.high, at_most)
        doublings = [self.floor * 2**n for n in range(int(math.log2(self.high / self.floor)) + 1)]
        if self.floor == float(f"{self.floor:.1g}"):  # the curve's own delays
            return (0.0, *doublings[:: math.ceil(len(doublings) / (at_most - 1))])
        decades = range(math.floor(math.log10(self.floor)), math.ceil(math.log10(self.high)) + 1)
        round_ones = (round(step * 10.0**decade, 6) for decade in decades for step in (1, 2, 5))
        inside = [each for each in round_ones if self.floor <= each <= self.high]
        return (0.0, *inside[:: math.ceil(len(inside) / (at_most - 1)) or 1])


def scale_for(due: Iterable[float], others: Iterable[float]) -> Scale:
    """The axis for due delays and everything drawn with them."""
    positive = [value for value in due if value >= _MILLISECOND]
    high = max([*positive, *others], default=0.0)
    if positive and max(positive) >= LOG_FROM_RATIO * min(positive):
        return Scale(high * 1.1, floor=min(positive))
    return Scale(max(high * 1.06, _MILLISECOND))


def _linear_ticks(high: float, at_most: int) -> tuple[float, ...]:
    widths = (step * 10.0**decade for decade in range(-3, 9) for step in (1, 2, 5))
    width = next(width for width in widths if high / width <= at_most - 1)
    return tuple(round(n * width, 6) for n in range(int(high / width + 1e-9) + 1))


def ordinal_ticks(restarts: Collection[int]) -> frozenset[int]:
    """The restarts whose numbers are written below the axis, about ten at the most."""
    steps = (step * 10**decade for decade in range(9) for step in (1, 2, 5))
    width = next(step for step in steps if len(restarts) <= 10 * step)
    return frozenset(each for each in restarts if each % width == 0 or each == min(restarts))


ALONG = "data-along"
"""Attribute of a picture whose values plots.js.j2 reads back."""


def picture(
    body: Iterable[str], *, size: tuple[int, int], title: str, description: str, name: str, along: str = ""
) -> Markup:
    """The whole picture. `name` is unique in its page: ids begin with it. With `along` a script shows values and zooms."""
    width, height = size
    read = f' {ALONG}="{along}"' if along else ""
    return Markup(
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-labelledby="{name}-t {name}-d"{read}>'
        f'<title id="{name}-t">{text(title)}</title><desc id="{name}-d">{text(description)}</desc>'
        f"{''.join(body)}</svg>"
    )


def grid_line(y: float, label: str, *, left: int, right: int) -> str:
    """A line across the plot from `left` to `right`, with its label before it."""
    return (
        f'<path class="grid" d="M{left} {n(y)}H{right}"/>'
        f'<text class="y" x="{left - 5}" y="{n(y + 3.5)}">{text(label)}</text>'
    )


def text(plain: str) -> str:
    """Text that is shown as it is."""
    return str(escape(printable(plain)))


def n(value: float) -> str:
    """A coordinate with one digit."""
    return f"{value:.1f}".removesuffix(".0")


WIDTH, HEIGHT = 560, 150
LEFT, RIGHT, TOP, BOTTOM = 40, 8, 18, 22
AREA = HEIGHT - TOP - BOTTOM
"""Height of what is drawn in, between the axes."""
_BELOW = 5
"""Space below a chart without labels of its horizontal axis."""
_ACROSS = WIDTH - LEFT - RIGHT
LINES = 5
"""Lines with a colour of their own."""

Point = tuple[float, float]
Range = tuple[float, float, float]
"""A value of the horizontal axis, and two of the vertical one."""
Ticks = tuple[tuple[float, str], ...]
"""Values with their labels."""


class Line(NamedTuple):
    name: str
    points: tuple[Point, ...]


class Band(NamedTuple):
    """An interval of the horizontal axis, with its name above it."""

    begin: float
    end: float
    label: str
    kind: str
    """Class of the page's style."""


class Chart(NamedTuple):
    """Values on two axes, each in the units of its axis; parts are drawn in the order in which they stand here."""

    title: str
    alternative: str
    """Its text alternative."""
    across: Scale
    up: Scale
    node: str = ""
    """What it is of, where several charts have one title."""
    unit: str = ""
    area: int = AREA
    """Height between the axes."""
    heading: str = ""
    """Of a panel among others of one subject."""
    bands: tuple[Band, ...] = ()
    downs: tuple[Point, ...] = ()
    """Begin and end of intervals in which a container was down."""
    y_ticks: Ticks = ()
    x_ticks: Ticks = ()
    target: tuple[float, str] | None = None
    """A value that breaks a promise if it is exceeded, and its label."""
    kills: tuple[float, ...] = ()
    lines: tuple[Line, ...] = ()
    ranges: tuple[Range, ...] = ()
    middles: tuple[Range, ...] = ()
    """The inner parts of ranges."""
    dues: tuple[Point, ...] = ()
    dots: tuple[tuple[float, float, bool], ...] = ()
    """With whether the target is missed."""
    medians: tuple[Point, ...] = ()
    x_name: str = ""
    """Of the horizontal axis, before its labels."""
    is_read: bool = False
    """Whether a script reads values back, which takes linear axes."""

    def x(self, value: float) -> float:
        return LEFT + self.across.at(value) * _ACROSS

    def y(self, value: float) -> float:
        return TOP + (1 - self.up.at(value)) * self.area


def chart_svg(chart: Chart, *, name: str) -> Markup:
    """The chart with class names only, so that it follows the page. `name` is unique in its page: ids begin with it."""
    x, y, bottom = chart.x, chart.y, TOP + chart.area
    half = min(12.0, 0.4 * _ACROSS / max(1, len(chart.dues)))
    body = (
        *_bands(chart),
        _path("down", (f"M{n(x(a))} {TOP}h{n(x(b) - x(a))}v{chart.area}h{n(x(a) - x(b))}z" for a, b in chart.downs)),
        *(grid_line(y(value), label, left=LEFT, right=WIDTH - RIGHT) for value, label in chart.y_ticks),
        *(f'<text class="x" x="{n(x(at))}" y="{bottom + 13}">{text(label)}</text>' for at, label in chart.x_ticks),
        *_target(chart),
        # A line each, with a triangle at its top.
        _path("kill", (f"M{n(x(at) - 3)} {TOP}h6l-3 5V{bottom}V{TOP + 5}z" for at in chart.kills)),
        *(_line(index, line, chart) for index, line in enumerate(chart.lines) if line.points),
        _path("range", (f"M{n(x(at))} {n(y(low))}V{n(y(high))}" for at, low, high in chart.ranges)),
        _path("middle", (f"M{n(x(at))} {n(y(low))}V{n(y(high))}" for at, low, high in chart.middles)),
        _path("due", (f"M{n(x(at) - half)} {n(y(value))}h{n(2 * half)}" for at, value in chart.dues)),
        *(_path(look, (_dot(x(at), y(v)) for at, v, bad in chart.dots if bad is missed)) for look, missed in _DOTS),
        *(f'<circle class="half" cx="{n(x(at))}" cy="{n(y(value))}" r="2.2"/>' for at, value in chart.medians),
        f'<text class="y" x="{LEFT - 5}" y="{bottom + 13}">{text(chart.x_name)}</text>' if chart.x_name else "",
    )
    # Ends of the axes, then left, top, width and height of the area: what plots.js.j2 needs.
    ends = (chart.across.high, chart.up.high, LEFT, TOP, _ACROSS, chart.area)
    return picture(
        body,
        size=(WIDTH, bottom + (BOTTOM if chart.x_ticks else _BELOW)),
        title=f"{chart.title} on {chart.node}" if chart.node else chart.title,
        description=chart.alternative,
        name=name,
        along=" ".join(f"{each:.6g}" for each in ends) if chart.is_read else "",
    )


_DOTS = (("mark", False), ("missed", True))


def _path(look: str, parts: Iterable[str]) -> str:
    """All parts of one look as one path: thousands of dots stay small."""
    path = "".join(parts)
    return f'<path class="{look}" d="{path}"/>' if path else ""


def _dot(x: float, y: float) -> str:
    return f"M{n(x - 1.6)} {n(y)}a1.6 1.6 0 1 0 3.2 0a1.6 1.6 0 1 0 -3.2 0"


def _bands(chart: Chart) -> Iterator[str]:
    after_heading = LEFT + 5.6 * len(chart.heading) if chart.heading else 0
    for band in chart.bands:
        begin, width = chart.x(band.begin), chart.x(band.end) - chart.x(band.begin)
        yield (f'<rect class="stage-{band.kind}" x="{n(begin)}" y="{TOP}" width="{n(width)}" height="{chart.area}"/>')
        middle, letters = begin + width / 2, 5.2 * len(band.label)
        if width > letters and middle - letters / 2 > after_heading:
            yield f'<text class="stage" x="{n(middle)}" y="{TOP - 6}">{text(band.label)}</text>'
    if chart.heading:
        yield f'<text class="unit" x="{LEFT}" y="{TOP - 6}">{text(chart.heading)}</text>'


def _target(chart: Chart) -> Iterator[str]:
    if chart.target is None:
        return
    value, label = chart.target
    y = chart.y(value)
    if y > TOP:
        yield f'<rect class="beyond" x="{LEFT}" y="{TOP}" width="{_ACROSS}" height="{n(y - TOP)}"/>'
    yield f'<path class="target" d="M{LEFT} {n(y)}h{_ACROSS}"/>'
    below_stage_names = y - 3 if y > TOP + 12 else y + 11
    yield f'<text class="unit" x="{LEFT + 3}" y="{n(below_stage_names)}">{text(label)}</text>'


def _line(index: int, line: Line, chart: Chart) -> str:
    path = "L".join(f"{n(chart.x(at))} {n(chart.y(value))}" for at, value in line.points)
    return f'<path class="line l{index % LINES}" d="M{path}"><title>{text(line.name)}</title></path>'
