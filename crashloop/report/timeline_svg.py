"""A timeline as SVG: one row per lane, class names only, so that it follows the page."""

from collections.abc import Iterator

from markupsafe import Markup

from crashloop.report.scale import Scale
from crashloop.report.svg_parts import n, picture, text
from crashloop.report.text import seconds, shortened
from crashloop.report.timeline import Lane, Moment, Stretch, Timeline

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 900, 132, 10, 4, 26
ROW, BAR = 20, 12
LONGEST_NAME = 22
LETTER = 5.4
"""Width of a letter of a label; a label that does not fit is only a title."""


FROM_CREATION = "seconds from the creation of the pod"


def timeline_svg(timeline: Timeline, *, name: str, axis_label: str = FROM_CREATION) -> Markup:
    """The picture. `name` is unique in its page: ids begin with it."""
    height = height_of(timeline)
    axis = Scale(max(timeline.length_s, 1e-3))
    ticks = [(_x(axis, at_s), seconds(at_s)) for at_s in axis.ticks(10)]
    body = [
        *(f'<path class="grid" d="M{n(x)} {TOP}V{height - BOTTOM}"/>' for x, _ in ticks),
        *(f'<text class="x" x="{n(x)}" y="{height - BOTTOM + 13}">{label}</text>' for x, label in ticks),
        f'<text class="axis" x="{(WIDTH + LEFT) // 2}" y="{height - 2}">{text(axis_label)}</text>',
        *(part for row, lane in enumerate(timeline.lanes) for part in _lane(lane, TOP + row * ROW, axis)),
    ]
    return picture(
        body,
        size=(WIDTH, height),
        title=f"What happened in {timeline.scenario}",
        description=f"Lanes: {', '.join(each.name for each in timeline.lanes)}.",
        name=name,
    )


def height_of(timeline: Timeline) -> int:
    return TOP + ROW * len(timeline.lanes) + BOTTOM


def _x(axis: Scale, at_s: float) -> float:
    return LEFT + axis.at(at_s) * (WIDTH - LEFT - RIGHT)


def _lane(lane: Lane, top: float, axis: Scale) -> Iterator[str]:
    middle = top + ROW / 2
    yield f'<text class="y" x="{LEFT - 6}" y="{n(middle + 3.5)}">{text(_short(lane.name))}</text>'
    labelled = ("ran", "stated") if any(each.look != "due" for each in lane.stretches) else ("due",)
    for stretch in lane.stretches:
        yield _stretch(stretch, middle, axis, labelled=stretch.look in labelled)
    ends_s = (*(each.at_s for each in lane.moments[1:]), axis.high)
    for moment, next_s in zip(lane.moments, ends_s, strict=False):
        yield _moment(moment, next_s, middle, axis)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _stretch(stretch: Stretch, middle: float, axis: Scale, *, labelled: bool) -> str:
    left = _x(axis, stretch.from_s)
    width = max(_x(axis, axis.high if stretch.to_s is None else stretch.to_s) - left, 1.0)
    label = _label(stretch.label, left + 3, left + width - 1, middle) if labelled else ""
    title = text(_title(stretch.label, stretch.line, stretch.from_s, stretch.to_s))
    return (
        f'<rect class="{stretch.look}-stretch" x="{n(left)}" y="{n(middle - BAR / 2)}" width="{n(width)}" '
        f'height="{BAR}"><title>{title}</title></rect>{label}'
    )


def _moment(moment: Moment, next_s: float, middle: float, axis: Scale) -> str:
    """With its label, if that fits before the next."""
    x = _x(axis, moment.at_s)
    title = text(_title(moment.label, moment.line, moment.at_s, moment.at_s))
    return (
        f'<circle class="dot" cx="{n(x)}" cy="{n(middle)}" r="3.6"><title>{title}</title></circle>'
        f"{_label(moment.label, x + 6, _x(axis, next_s) - 6, middle)}"
    )


def _label(label: str, left: float, right: float, middle: float) -> str:
    """Empty if it does not fit."""
    if len(label) * LETTER >= right - left:
        return ""
    return f'<text class="in-stretch" x="{n(left)}" y="{n(middle + 3.5)}">{text(label)}</text>'


def _title(label: str, line: int | None, from_s: float, to_s: float | None) -> str:
    until = "" if to_s == from_s else " on" if to_s is None else f" to {seconds(to_s)}"
    where = "" if line is None else f" (history line {line})"
    return f"{seconds(from_s)}{until} s: {shortened(label, 300)}{where}"
