"""A plot as SVG: no style of its own beyond class names, so that it follows the page into the dark and onto paper."""

from markupsafe import Markup, escape

from crashloop.report.plots import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Bar, Mark, Plot
from crashloop.report.text import printable

TITLED_MARKS = 60
"""With more marks than this none carries a title of its own: the file stays small, the numbers are in results.json."""


def to_svg(plot: Plot, *, title: str, description: str, name: str) -> Markup:
    """The picture. `name` is unique in its page: ids begin with it."""
    titled = len(plot.marks) <= TITLED_MARKS
    body = [
        *(_grid_line(y, label) for y, label in plot.y_ticks),
        *(_restart_label(x, label) for x, label in plot.x_ticks),
        f'<path class="band" d="{"".join(map(_bar, plot.bars))}"/>',
        f'<path class="due" d="{"".join(f"M{_n(left)} {_n(y)}H{_n(right)}" for left, right, y in plot.due)}"/>',
        f'<path class="started" d="{"".join(map(_tick, plot.marks))}"/>',
        *(_dot(mark, titled) for mark in plot.marks),
        f'<text class="axis" x="{LEFT + (WIDTH - LEFT - RIGHT) // 2}" y="{HEIGHT - 3}">restart</text>',
        f'<text class="axis unit" x="2" y="{TOP - 1}">s</text>',
    ]
    return Markup(
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{name}-t {name}-d">'
        f'<title id="{name}-t">{_text(title)}</title><desc id="{name}-d">{_text(description)}</desc>'
        f"{''.join(body)}</svg>"
    )


def _bar(bar: Bar) -> str:
    return f"M{_n(bar.x)} {_n(bar.y)}h{_n(bar.width)}v{_n(bar.height)}h{_n(-bar.width)}z"


def _tick(mark: Mark) -> str:
    return "" if mark.tick_y is None else f"M{_n(mark.x - 5)} {_n(mark.tick_y)}h10"


def _dot(mark: Mark, titled: bool) -> str:
    """A dot inside the band, a cross outside of it."""
    title = f"<title>{_text(mark.title)}</title>" if titled else ""
    if mark.outside:
        arm = 4
        cross = (
            f"M{_n(mark.x - arm)} {_n(mark.y - arm)}l{2 * arm} {2 * arm}"
            f"M{_n(mark.x + arm)} {_n(mark.y - arm)}l{-2 * arm} {2 * arm}"
        )
        excusable = " excusable" if mark.excusable else ""
        return f'<path class="out{excusable}" d="{cross}">{title}</path>'
    return f'<circle class="dot" cx="{_n(mark.x)}" cy="{_n(mark.y)}" r="3.2">{title}</circle>'


def _grid_line(y: float, label: str) -> str:
    return (
        f'<path class="grid" d="M{LEFT} {_n(y)}H{WIDTH - RIGHT}"/>'
        f'<text class="y" x="{LEFT - 5}" y="{_n(y + 3.5)}">{_text(label)}</text>'
    )


def _restart_label(x: float, label: str) -> str:
    return f'<text class="x" x="{_n(x)}" y="{HEIGHT - BOTTOM + 15}">{_text(label)}</text>'


def _text(text: str) -> str:
    return str(escape(printable(text)))


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
