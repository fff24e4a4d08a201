"""Small multiples: the curves of one profile side by side on one axis, with their numbers.

A plot shows the due, allowed and observed delays of one curve. Its SVG has no style of its own beyond class names, so that it
follows the page into the dark and onto paper.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from crashloop.report.chart import Scale, grid_line, n, ordinal_ticks, picture, scale_for, text
from crashloop.report.curves import PlottedCurve, ReportedDelay, curve_in_words, delay_in_words
from crashloop.report.document import Badge, Figure, Inline, Row, Span, Table, row
from crashloop.report.text import anchor_of, seconds

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


def curve_plot(curve: PlottedCurve, scale: Scale) -> Plot:
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
                title=delay_in_words(each),
            )
            for x, each in placed
            if (decided := each.decided_s) is not None
        ),
        x_ticks=tuple((x, str(each.restart)) for x, each in placed if each.restart in labelled),
        y_ticks=tuple((y_of(value), seconds(value)) for value in scale.ticks()),
    )


TITLED_MARKS = 60
"""With more marks than this none carries a title of its own: the file stays small, the numbers are in results.json."""


def curve_plot_svg(plot: Plot, *, title: str, description: str, name: str) -> Markup:
    """The picture. `name` is unique in its page: ids begin with it."""
    titled = len(plot.marks) <= TITLED_MARKS
    body = [
        *(grid_line(y, label, left=LEFT, right=WIDTH - RIGHT) for y, label in plot.y_ticks),
        *(_restart_label(x, label) for x, label in plot.x_ticks),
        f'<path class="band" d="{"".join(map(_bar_path, plot.bars))}"/>',
        f'<path class="due" d="{"".join(f"M{n(left)} {n(y)}H{n(right)}" for left, right, y in plot.due)}"/>',
        f'<path class="started" d="{"".join(map(_tick_path, plot.marks))}"/>',
        *(_mark_svg(mark, titled) for mark in plot.marks),
        f'<text class="axis" x="{LEFT + (WIDTH - LEFT - RIGHT) // 2}" y="{HEIGHT - 3}">restart</text>',
        f'<text class="axis unit" x="2" y="{TOP - 1}">s</text>',
    ]
    return picture(body, size=(WIDTH, HEIGHT), title=title, description=description, name=name)


def _bar_path(bar: Bar) -> str:
    return f"M{n(bar.x)} {n(bar.y)}h{n(bar.width)}v{n(bar.height)}h{n(-bar.width)}z"


def _tick_path(mark: Mark) -> str:
    return "" if mark.tick_y is None else f"M{n(mark.x - 5)} {n(mark.tick_y)}h10"


def _mark_svg(mark: Mark, titled: bool) -> str:
    """A dot inside the band, a cross outside of it."""
    title = f"<title>{text(mark.title)}</title>" if titled else ""
    if mark.outside:
        arm = 4
        cross = (
            f"M{n(mark.x - arm)} {n(mark.y - arm)}l{2 * arm} {2 * arm}"
            f"M{n(mark.x + arm)} {n(mark.y - arm)}l{-2 * arm} {2 * arm}"
        )
        excusable = " excusable" if mark.excusable else ""
        return f'<path class="out{excusable}" d="{cross}">{title}</path>'
    return f'<circle class="dot" cx="{n(mark.x)}" cy="{n(mark.y)}" r="3.2">{title}</circle>'


def _restart_label(x: float, label: str) -> str:
    return f'<text class="x" x="{n(x)}" y="{HEIGHT - BOTTOM + 15}">{text(label)}</text>'


MAX_NUMBERS = 40
"""Rows of the table below a plot; results.json holds all of them."""

HEADER = ("#", "due", "latest", "created", "started", "stalled", "why")


def panels_of(curves: Sequence[tuple[str, PlottedCurve]]) -> tuple[Figure, ...]:
    """Plots of one profile; each curve comes with its anchor."""
    return tuple(
        Figure(
            heading=(Span(curve.scenario, "scenario"), f" · {curve.container} ", Badge.of(curve.standing)),
            sub=_requirements_line(curve),
            svg=curve_plot_svg(
                curve_plot(curve, shared_scale([curve])),
                title=f'Delays of "{curve.container}" in {curve.scenario} on {curve.profile}',
                description=curve_in_words(curve),
                name=anchor,
            ),
            caption=curve_in_words(curve),
            emphasis=_caption_look(curve),
            numbers=Table(HEADER, tuple(map(_numbers_row, curve.delays[:MAX_NUMBERS])), look="numbers"),
            left_out=max(0, len(curve.delays) - MAX_NUMBERS),
            anchor=anchor,
        )
        for anchor, curve in curves
    )


def _requirements_line(curve: PlottedCurve) -> tuple[Inline, ...]:
    """The mode, and the requirements judged on these delays."""
    parts: list[Inline] = [f"{curve.mode}: "] if curve.mode else []
    for position, each in enumerate(curve.requirements):
        parts += [", " if position else "", Span(each, href=f"#{anchor_of(each)}")]
    return tuple(parts)


def _caption_look(curve: PlottedCurve) -> str:
    outside = [each for each in curve.delays if each.is_outside]
    if not outside:
        return ""
    return "excusable" if all(each.is_excusable for each in outside) else "outside"


def _numbers_row(delay: ReportedDelay) -> Row:
    """One delay; red if it is outside the band."""
    values = (
        str(delay.restart),
        " or ".join(seconds(each.due_s) for each in delay.windows),
        " or ".join(seconds(each.latest_s) for each in delay.windows),
        *map(seconds, (delay.created_s, delay.seen_s, delay.stalled_s)),
        ", ".join(filter(None, (delay.reason, delay.channel))),
    )
    return row(*values)._replace(look="outside" if delay.is_outside else "")
