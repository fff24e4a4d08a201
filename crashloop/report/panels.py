"""Small multiples: the curves of one profile side by side on one axis, with their numbers."""

from collections.abc import Sequence

from crashloop.report.curves import PlottedCurve
from crashloop.report.delay import ReportedDelay
from crashloop.report.document import Badge, Figure, Inline, Row, Span, Table, row
from crashloop.report.plots import plot, shared_scale
from crashloop.report.reading import summary
from crashloop.report.svg import to_svg
from crashloop.report.text import anchor_of, seconds

MAX_NUMBERS = 40
"""Rows of the table below a plot; results.json holds all of them."""

HEADER = ("#", "due", "latest", "created", "started", "stalled", "why")


def panels_of(curves: Sequence[tuple[str, PlottedCurve]]) -> tuple[Figure, ...]:
    """Plots of one profile; each curve comes with its anchor."""
    scale = shared_scale(curve for _, curve in curves)
    return tuple(
        Figure(
            heading=(Span(curve.scenario, "scenario"), f" · {curve.container} ", Badge.of(curve.standing)),
            sub=_sub(curve),
            svg=to_svg(
                plot(curve, scale),
                title=f'Delays of "{curve.container}" in {curve.scenario} on {curve.profile}',
                description=summary(curve),
                name=anchor,
            ),
            caption=summary(curve),
            emphasis=_emphasis(curve),
            numbers=Table(HEADER, tuple(map(_numbers, curve.delays[:MAX_NUMBERS])), look="numbers"),
            left_out=max(0, len(curve.delays) - MAX_NUMBERS),
            anchor=anchor,
        )
        for anchor, curve in curves
    )


def _sub(curve: PlottedCurve) -> tuple[Inline, ...]:
    """The mode, and the requirements judged on these delays."""
    parts: list[Inline] = [f"{curve.mode}: "] if curve.mode else []
    for position, each in enumerate(curve.requirements):
        parts += [", " if position else "", Span(each, href=f"#{anchor_of(each)}")]
    return tuple(parts)


def _emphasis(curve: PlottedCurve) -> str:
    outside = [each for each in curve.delays if each.is_outside]
    if not outside:
        return ""
    return "excusable" if all(each.is_excusable for each in outside) else "outside"


def _numbers(delay: ReportedDelay) -> Row:
    """One delay; red if it is outside the band."""
    values = (
        str(delay.restart),
        " or ".join(seconds(each.due_s) for each in delay.windows),
        " or ".join(seconds(each.latest_s) for each in delay.windows),
        *map(seconds, (delay.created_s, delay.seen_s, delay.stalled_s)),
        ", ".join(filter(None, (delay.reason, delay.channel))),
    )
    return row(*values)._replace(look="outside" if delay.is_outside else "")
