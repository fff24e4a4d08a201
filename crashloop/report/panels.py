"""Small multiples: the curves of one profile side by side on one axis, with their numbers."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from crashloop.report.curves import PlottedCurve
from crashloop.report.delay import ReportedDelay
from crashloop.report.plots import plot, shared_scale
from crashloop.report.reading import summary
from crashloop.report.svg import to_svg
from crashloop.report.text import anchor_of, seconds

MAX_NUMBERS = 40
"""Rows of the table below a plot; results.json holds all of them."""


class NumberRow(NamedTuple):
    """One delay as a row of the table below a plot."""

    restart: int
    due: str
    latest: str
    created: str
    seen: str
    stalled: str
    note: str
    outside: bool


class Panel(NamedTuple):
    """A plot with its surroundings."""

    anchor: str
    curve: PlottedCurve
    requirements: tuple[tuple[str, str], ...]
    """Ids and links of the requirements judged on these delays."""
    svg: Markup
    summary: str
    numbers: tuple[NumberRow, ...]
    left_out: int
    """Delays that the table leaves out."""
    emphasis: str
    """Class of the line below the plot: outside, excusable, or empty."""


def panels_of(curves: Sequence[tuple[str, PlottedCurve]]) -> tuple[Panel, ...]:
    """Plots of one profile; each curve comes with its anchor."""
    scale = shared_scale(curve for _, curve in curves)
    return tuple(
        Panel(
            anchor=anchor,
            curve=curve,
            requirements=tuple((each, f"#{anchor_of(each)}") for each in curve.requirements),
            svg=to_svg(
                plot(curve, scale),
                title=f'Delays of "{curve.container}" in {curve.scenario} on {curve.profile}',
                description=summary(curve),
                name=anchor,
            ),
            summary=summary(curve),
            numbers=tuple(_number_row(each) for each in curve.delays[:MAX_NUMBERS]),
            left_out=max(0, len(curve.delays) - MAX_NUMBERS),
            emphasis=_emphasis(curve),
        )
        for anchor, curve in curves
    )


def _emphasis(curve: PlottedCurve) -> str:
    outside = [each for each in curve.delays if each.is_outside]
    if not outside:
        return ""
    return "excusable" if all(each.is_excusable for each in outside) else "outside"


def _number_row(delay: ReportedDelay) -> NumberRow:
    return NumberRow(
        restart=delay.restart,
        due=" or ".join(seconds(each.due_s) for each in delay.windows),
        latest=" or ".join(seconds(each.latest_s) for each in delay.windows),
        created=seconds(delay.created_s),
        seen=seconds(delay.seen_s),
        stalled=seconds(delay.stalled_s),
        note=", ".join(filter(None, (delay.reason, delay.channel))),
        outside=delay.is_outside,
    )
