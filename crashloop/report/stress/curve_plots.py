"""Delays under load by restart: one plot per node and mix. Geometry only; svg.py renders them."""

from collections.abc import Sequence
from typing import NamedTuple

from crashloop.report.scale import Scale, scale_for
from crashloop.report.stress.plots import LEFT, RIGHT, WIDTH, at_height
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
