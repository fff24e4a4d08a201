"""A plot as SVG: no style of its own beyond class names, so that it follows the page into the dark and onto paper."""

from markupsafe import Markup

from crashloop.report.plots import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Bar, Mark, Plot
from crashloop.report.svg_parts import grid_line, n, picture, text

TITLED_MARKS = 60
"""With more marks than this none carries a title of its own: the file stays small, the numbers are in results.json."""


def to_svg(plot: Plot, *, title: str, description: str, name: str) -> Markup:
    """The picture. `name` is unique in its page: ids begin with it."""
    titled = len(plot.marks) <= TITLED_MARKS
    body = [
        *(grid_line(y, label, left=LEFT, right=WIDTH - RIGHT) for y, label in plot.y_ticks),
        *(_restart_label(x, label) for x, label in plot.x_ticks),
        f'<path class="band" d="{"".join(map(_bar, plot.bars))}"/>',
        f'<path class="due" d="{"".join(f"M{n(left)} {n(y)}H{n(right)}" for left, right, y in plot.due)}"/>',
        f'<path class="started" d="{"".join(map(_tick, plot.marks))}"/>',
        *(_dot(mark, titled) for mark in plot.marks),
        f'<text class="axis" x="{LEFT + (WIDTH - LEFT - RIGHT) // 2}" y="{HEIGHT - 3}">restart</text>',
        f'<text class="axis unit" x="2" y="{TOP - 1}">s</text>',
    ]
    return picture(body, size=(WIDTH, HEIGHT), title=title, description=description, name=name)


def _bar(bar: Bar) -> str:
    return f"M{n(bar.x)} {n(bar.y)}h{n(bar.width)}v{n(bar.height)}h{n(-bar.width)}z"


def _tick(mark: Mark) -> str:
    return "" if mark.tick_y is None else f"M{n(mark.x - 5)} {n(mark.tick_y)}h10"


def _dot(mark: Mark, titled: bool) -> str:
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
