"""Plots of a stress run as SVG, and delays under load by restart, one plot per node and mix.

Class names only, so that they follow the page; or files of their own for documents.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from crashloop.report.picture import Scale, grid_line, n, picture, scale_for, text
from crashloop.report.stress.plots import AREA, BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Line, Plot, at_height
from crashloop.report.stress.results import LoadCurve


class Column(NamedTuple):
    """All restarts of one number: x, and the y of each delay."""

    x: float
    due: float
    lowest: float
    p50: float
    p90: float
    highest: float


class CurvePlot(NamedTuple):
    """Delays by restart on one node: due, median, nine tenths, extremes."""

    curve: LoadCurve
    columns: tuple[Column, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    alternative: str


def curve_title(curve: LoadCurve) -> str:
    """Load, node, and kubelet profile."""
    return " · ".join(filter(None, (curve.stage, f"{curve.node} ({curve.profile})")))


def curve_plots(curves: Sequence[LoadCurve]) -> tuple[CurvePlot, ...]:
    """All on one delay axis."""
    points = [point for curve in curves for point in curve.points]
    scale = scale_for((point.due_s for point in points), (point.highest_s for point in points))
    return tuple(_curve_plot(curve, scale) for curve in curves if curve.points)


def _curve_plot(curve: LoadCurve, scale: Scale) -> CurvePlot:
    step = (WIDTH - LEFT - RIGHT) / len(curve.points)
    columns = tuple(
        Column(
            LEFT + (index + 0.5) * step,
            at_height(each.due_s, scale),
            at_height(each.lowest_s, scale),
            at_height(each.p50_s, scale),
            at_height(each.p90_s, scale),
            at_height(each.highest_s, scale),
        )
        for index, each in enumerate(curve.points)
    )
    every = max(1, len(curve.points) // 15)
    ticks = tuple(
        (columns[index].x, str(each.restart)) for index, each in enumerate(curve.points) if index % every == 0
    )
    last = curve.points[-1]
    alternative = (
        f"{sum(each.samples for each in curve.points):,} delays of restarts {curve.points[0].restart} to {last.restart}; at "
        f"restart {last.restart}: {last.due_s:g} s due, p50 {last.p50_s:.2f} s, highest {last.highest_s:.2f} s"
    )
    return CurvePlot(curve, columns, ticks, tuple((at_height(v, scale), f"{v:g}") for v in scale.ticks(6)), alternative)


_STYLE = """
svg { background: #fff; font-family: sans-serif }
text { font-size: 10px; fill: #57606a } .title { font-size: 12px; fill: #1f2328; font-weight: 600 }
.y { text-anchor: end } .unit { text-anchor: start } .x, .stage { text-anchor: middle } .stage { font-size: 9px }
.grid { stroke: #d0d7de; stroke-width: .6; fill: none }
.stage-calm { fill: #57606a; fill-opacity: .06 } .stage-storm, .stage-treatment { fill: #bc4c00; fill-opacity: .10 }
.stage-baseline { fill: #0550ae; fill-opacity: .09 }
.line { fill: none; stroke-width: 1.5; stroke-linejoin: round }
.l0 { stroke: #0550ae } .l1 { stroke: #bc4c00 } .l2 { stroke: #116329 } .l3 { stroke: #8250df } .l4 { stroke: #57606a }
.mark { fill: #0550ae; fill-opacity: .55 } .missed { fill: #a40e26; fill-opacity: .8 }
.target { stroke: #a40e26; stroke-width: 1; stroke-dasharray: 4 3; fill: none } .beyond { fill: #a40e26; fill-opacity: .05 }
.down { fill: #a40e26; fill-opacity: .16 } .kill { stroke: #a40e26; stroke-width: 1; fill: #a40e26 }
.due { stroke: #1f2328; stroke-width: 1.6; fill: none } .range { stroke: #0550ae; stroke-width: 1; fill: none }
.middle { stroke: #0550ae; stroke-opacity: .3; stroke-width: 6; fill: none } .half { fill: #0550ae }
"""
"""The colours of the page, for a file of its own."""

_BELOW = 5
"""Space below a panel without labels of its time axis."""
LINES = 5
"""Lines with a colour of their own."""


def plot_svg(plot: Plot, *, name: str) -> Markup:
    """A plot along time. `name` is unique in its page: ids begin with it."""
    body = [
        *_stage_bands(plot),
        *_down_path(plot),
        *(grid_line(y, label, left=LEFT, right=WIDTH - RIGHT) for y, label in plot.y_ticks),
        *(_x_label(x, label, plot.area) for x, label in plot.x_ticks),
        *_target_svg(plot),
        *_kill_path(plot),
        *(_line_svg(index, line) for index, line in enumerate(plot.lines)),
        *_range_path(plot.ranges),
        *_mark_paths(plot.dots),
    ]
    title = f"{plot.title} on {plot.node}" if plot.node else plot.title
    height = TOP + plot.area + (BOTTOM if plot.x_ticks else _BELOW)
    return picture(
        body, size=(WIDTH, height), title=title, description=plot.alternative, name=name, along=_values_along(plot)
    )


def _values_along(plot: Plot) -> str:
    """What plots.js.j2 needs to read values back: ends of the axes, then left, top, width and height of the area."""
    if plot.ends is None:
        return ""
    numbers = (*plot.ends, LEFT, TOP, WIDTH - LEFT - RIGHT, plot.area)
    return " ".join(f"{each:.6g}" for each in numbers)


def curve_svg(plot: CurvePlot, *, name: str) -> Markup:
    """Delays under load by restart."""
    half = min(12.0, 0.4 * (WIDTH - LEFT - RIGHT) / max(1, len(plot.columns)))
    due = "".join(f"M{n(each.x - half)} {n(each.due)}h{n(2 * half)}" for each in plot.columns)
    whole = "".join(f"M{n(each.x)} {n(each.lowest)}V{n(each.highest)}" for each in plot.columns)
    middle = "".join(f"M{n(each.x)} {n(each.p50)}V{n(each.p90)}" for each in plot.columns)
    body = [
        *(grid_line(y, label, left=LEFT, right=WIDTH - RIGHT) for y, label in plot.y_ticks),
        *(_x_label(x, label) for x, label in plot.x_ticks),
        f'<path class="range" d="{whole}"/><path class="middle" d="{middle}"/><path class="due" d="{due}"/>',
        *(f'<circle class="half" cx="{n(each.x)}" cy="{n(each.p50)}" r="2.2"/>' for each in plot.columns),
        f'<text class="y" x="{LEFT - 5}" y="{HEIGHT - BOTTOM + 13}">restart</text>',
    ]
    title = f"delays on {curve_title(plot.curve)}, seconds"
    return picture(body, size=(WIDTH, HEIGHT), title=title, description=plot.alternative, name=name)


def standalone(svg: Markup, *, heading: str, legend: Iterable[str] = ()) -> str:
    """The picture as a file: with a style, a heading and a legend of its lines."""
    entries, x = [], float(LEFT)
    for index, label in enumerate(legend):
        entries.append(f'<path class="line l{index % LINES}" d="M{n(x)} 30h14"/>')
        entries.append(f'<text x="{n(x + 18)}" y="33">{text(label)}</text>')
        x += 36 + 5.6 * len(label)
    top = 40 if entries else 24
    head = f'<text class="title" x="{LEFT}" y="15">{text(heading)}</text>{"".join(entries)}'
    inner = str(svg).replace("<svg ", f'<svg y="{top}" width="{WIDTH}" height="{HEIGHT}" ', 1)
    height = HEIGHT + top
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
        f"<style>{_STYLE}</style>{head}{inner}</svg>\n"
    )


def _stage_bands(plot: Plot) -> Iterable[str]:
    after_heading = LEFT + 5.6 * len(plot.heading) if plot.heading else 0
    for band in plot.bands:
        yield (
            f'<rect class="stage-{band.kind}" x="{n(band.x)}" y="{TOP}" width="{n(band.width)}" height="{plot.area}"/>'
        )
        middle, width = band.x + band.width / 2, 5.2 * len(band.label)
        if band.width > width and middle - width / 2 > after_heading:
            yield f'<text class="stage" x="{n(middle)}" y="{TOP - 6}">{text(band.label)}</text>'
    if plot.heading:
        yield f'<text class="unit" x="{LEFT}" y="{TOP - 6}">{text(plot.heading)}</text>'


def _down_path(plot: Plot) -> Iterable[str]:
    path = "".join(f"M{n(x)} {TOP}h{n(width)}v{plot.area}h{n(-width)}z" for x, width in plot.downs)
    if path:
        yield f'<path class="down" d="{path}"/>'


def _kill_path(plot: Plot) -> Iterable[str]:
    """A line each, with a triangle at its top."""
    path = "".join(f"M{n(x - 3)} {TOP}h6l-3 5V{TOP + plot.area}V{TOP + 5}z" for x in plot.kills)
    if path:
        yield f'<path class="kill" d="{path}"/>'


def _target_svg(plot: Plot) -> Iterable[str]:
    if plot.target is None:
        return
    y, label = plot.target
    width = WIDTH - LEFT - RIGHT
    if y > TOP:
        yield f'<rect class="beyond" x="{LEFT}" y="{TOP}" width="{width}" height="{n(y - TOP)}"/>'
    yield f'<path class="target" d="M{LEFT} {n(y)}h{width}"/>'
    below_stage_names = y - 3 if y > TOP + 12 else y + 11
    yield f'<text class="unit" x="{LEFT + 3}" y="{n(below_stage_names)}">{text(label)}</text>'


def _line_svg(index: int, line: Line) -> str:
    if not line.path:
        return ""
    (x, y), *rest = line.path
    path = f"M{n(x)} {n(y)}" + "".join(f"L{n(x)} {n(y)}" for x, y in rest)
    return f'<path class="line l{index % LINES}" d="{path}"><title>{text(line.name)}</title></path>'


def _range_path(ranges: Iterable[tuple[float, float, float]]) -> Iterable[str]:
    path = "".join(f"M{n(x)} {n(low)}V{n(high)}" for x, low, high in ranges)
    if path:
        yield f'<path class="range" d="{path}"/>'


def _mark_paths(dots: Iterable[tuple[float, float, bool]]) -> Iterable[str]:
    """Circles in one path a kind: thousands of dots stay small."""
    placed = list(dots)
    for kind, wanted in (("mark", False), ("missed", True)):
        path = "".join(
            f"M{n(x - 1.6)} {n(y)}a1.6 1.6 0 1 0 3.2 0a1.6 1.6 0 1 0 -3.2 0" for x, y, bad in placed if bad is wanted
        )
        if path:
            yield f'<path class="{kind}" d="{path}"/>'


def _x_label(x: float, label: str, area: int = AREA) -> str:
    return f'<text class="x" x="{n(x)}" y="{TOP + area + 13}">{text(label)}</text>'
