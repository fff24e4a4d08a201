"""What every picture of a report is made of: numbers and text as SVG has them, grid lines, the frame that names it."""

from collections.abc import Iterable

from markupsafe import Markup, escape

from crashloop.report.text import printable

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
