"""Small multiples: the curves of one profile side by side on one axis, with their numbers.

A plot shows the due, allowed and observed delays of one curve. Its SVG has no style of its own beyond class names, so that it
follows the page into the dark and onto paper.
"""

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from crashloop.report.chart import Scale, grid_line, n, ordinal_ticks, picture, scale_for, text
from crashloop.report.curves import DelayWindow, PlottedCurve, ReportedDelay, curve_in_words, delay_in_words
from crashloop.report.document import Badge, Figure, Inline, Row, Span, Table, row
from crashloop.report.text import anchor_of, seconds

WIDTH, HEIGHT = 280, 176
LEFT, RIGHT, TOP, BOTTOM = 30, 4, 12, 30

WIDEST_BAR = 34
TITLED_MARKS = 60
"""With more marks than this none carries a title of its own: the file stays small, the numbers are in results.json."""


def shared_scale(curves: Iterable[PlottedCurve]) -> Scale:
    """One axis for adjacent plots."""
    delays = [delay for curve in curves for delay in curve.delays]
    windows = [window for delay in delays for window in delay.windows]
    others = [
        *(each.latest_s for each in windows),
        *(value for each in delays for value in (each.seen_s, each.created_s)),
    ]
    return scale_for((each.due_s for each in windows), (value for value in others if value is not None))


def curve_svg(curve: PlottedCurve, scale: Scale, *, title: str, name: str) -> Markup:
    """A curve with at least one delay on an axis. `name` is unique in its page: ids begin with it.

    The allowed band of a restart is a bar from due to latest; a dot is where the kubelet acted, a tick where the process began.
    """
    slot = (WIDTH - LEFT - RIGHT) / len(curve.delays)
    half = min(slot * 0.84, WIDEST_BAR) / 2
    placed = [(LEFT + (position + 0.5) * slot, delay) for position, delay in enumerate(curve.delays)]

    def y(value: float | None) -> float:
        return TOP + (1 - scale.at(scale.high if value is None else value)) * (HEIGHT - TOP - BOTTOM)

    def bar(x: float, each: DelayWindow) -> str:
        top, due = y(each.latest_s), y(each.due_s)
        return f"M{n(x - half)} {n(top)}h{n(2 * half)}v{n(due - top)}h{n(-2 * half)}z"

    windows = [(x, each) for x, delay in placed for each in delay.windows]
    seen = [(x, each) for x, each in placed if each.decided_s is not None]
    labelled = ordinal_ticks([each.restart for each in curve.delays])
    labels = ((x, str(each.restart)) for x, each in placed if each.restart in labelled)
    due = "".join(f"M{n(x - half)} {n(y(each.due_s))}H{n(x + half)}" for x, each in windows)
    started = "".join(f"M{n(x - 5)} {n(y(each.seen_s))}h10" for x, each in seen if each.seen_s is not None)
    body = [
        *(grid_line(y(value), seconds(value), left=LEFT, right=WIDTH - RIGHT) for value in scale.ticks()),
        *(f'<text class="x" x="{n(x)}" y="{HEIGHT - BOTTOM + 15}">{text(label)}</text>' for x, label in labels),
        f'<path class="band" d="{"".join(bar(*each) for each in windows)}"/>',
        f'<path class="due" d="{due}"/>',
        f'<path class="started" d="{started}"/>',
        *(_mark_svg(x, y(each.decided_s), each, titled=len(seen) <= TITLED_MARKS) for x, each in seen),
        f'<text class="axis" x="{LEFT + (WIDTH - LEFT - RIGHT) // 2}" y="{HEIGHT - 3}">restart</text>',
        f'<text class="axis unit" x="2" y="{TOP - 1}">s</text>',
    ]
    return picture(body, size=(WIDTH, HEIGHT), title=title, description=curve_in_words(curve), name=name)


def _mark_svg(x: float, y: float, delay: ReportedDelay, *, titled: bool) -> str:
    """A dot inside the band, a cross outside of it; another cross where the host's stall may be the cause."""
    title = f"<title>{text(delay_in_words(delay))}</title>" if titled else ""
    if not delay.is_outside:
        return f'<circle class="dot" cx="{n(x)}" cy="{n(y)}" r="3.2">{title}</circle>'
    cross = f"M{n(x - 4)} {n(y - 4)}l8 8M{n(x + 4)} {n(y - 4)}l-8 8"
    return f'<path class="out{" excusable" if delay.is_excusable else ""}" d="{cross}">{title}</path>'


MAX_NUMBERS = 40
"""Rows of the table below a plot; results.json holds all of them."""

HEADER = ("#", "due", "latest", "created", "started", "stalled", "why")


def panels_of(curves: Sequence[tuple[str, PlottedCurve]]) -> tuple[Figure, ...]:
    """Plots of one profile; each curve comes with its anchor."""
    return tuple(
        Figure(
            heading=(Span(curve.scenario, "scenario"), f" · {curve.container} ", Badge.of(curve.standing)),
            sub=_requirements_line(curve),
            svg=curve_svg(
                curve,
                shared_scale([curve]),
                title=f'Delays of "{curve.container}" in {curve.scenario} on {curve.profile}',
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
