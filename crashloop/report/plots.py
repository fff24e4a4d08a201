"""A plot of one curve: due, allowed and observed delays. Geometry only; svg.py renders it."""

from collections.abc import Iterable
from typing import NamedTuple

from crashloop.report.curves import PlottedCurve
from crashloop.report.reading import describe
from crashloop.report.scale import Scale, ordinal_ticks, scale_for
from crashloop.report.text import seconds

WIDTH, HEIGHT = 280, 176
LEFT, RIGHT, TOP, BOTTOM = 30, 4, 12, 30

WIDEST_BAR = 34


class Mark(NamedTuple):
    """One delay: a dot where the kubelet acted, a tick where the process started."""

    x: float
    y: float
    tick_y: float | None
    outside: bool
    excusable: bool
    """Outside, but by no more than the host's stall."""
    title: str


class Bar(NamedTuple):
    """The allowed band of one restart, from due (bottom) to latest (top)."""

    x: float
    y: float
    width: float
    height: float


class Plot(NamedTuple):
    """Everything in the units of a WIDTH by HEIGHT picture, y downwards."""

    bars: tuple[Bar, ...]
    due: tuple[tuple[float, float, float], ...]
    """Left end, right end and y of each piece of the due line."""
    marks: tuple[Mark, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]


def shared_scale(curves: Iterable[PlottedCurve]) -> Scale:
    """One axis for adjacent plots."""
    delays = [delay for curve in curves for delay in curve.delays]
    windows = [window for delay in delays for window in delay.windows]
    others = [
        *(each.latest_s for each in windows),
        *(value for each in delays for value in (each.seen_s, each.created_s)),
    ]
    return scale_for((each.due_s for each in windows), (value for value in others if value is not None))


def plot(curve: PlottedCurve, scale: Scale) -> Plot:
    """Lay a curve with at least one delay out on an axis."""
    slot = (WIDTH - LEFT - RIGHT) / len(curve.delays)
    half = min(slot * 0.84, WIDEST_BAR) / 2
    placed = [(LEFT + (position + 0.5) * slot, delay) for position, delay in enumerate(curve.delays)]

    def y_of(value: float) -> float:
        return TOP + (1 - scale.at(value)) * (HEIGHT - TOP - BOTTOM)

    windows = [
        (x, each, scale.high if each.latest_s is None else each.latest_s) for x, d in placed for each in d.windows
    ]
    labelled = ordinal_ticks([each.restart for each in curve.delays])
    return Plot(
        bars=tuple(Bar(x - half, y_of(top), 2 * half, y_of(each.due_s) - y_of(top)) for x, each, top in windows),
        due=tuple((x - half, x + half, y_of(each.due_s)) for x, each, _ in windows),
        marks=tuple(
            Mark(
                x=x,
                y=y_of(decided),
                tick_y=None if each.seen_s is None else y_of(each.seen_s),
                outside=each.is_outside,
                excusable=each.is_excusable,
                title=describe(each),
            )
            for x, each in placed
            if (decided := each.decided_s) is not None
        ),
        x_ticks=tuple((x, str(each.restart)) for x, each in placed if each.restart in labelled),
        y_ticks=tuple((y_of(value), seconds(value)) for value in scale.ticks()),
    )
