"""What every picture of a report is made of: axes with their labelled values, numbers and text as SVG has them, and the frame."""

import math
from collections.abc import Collection, Iterable
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


def ordinal_ticks(restarts: Collection[int], at_most: int = 10) -> frozenset[int]:
    """The restarts whose numbers are written below the axis."""
    steps = (step * 10**decade for decade in range(9) for step in (1, 2, 5))
    width = next(step for step in steps if len(restarts) <= at_most * step)
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
