"""A card per cause: what happened, what it breaks, the seconds around it, the lines that prove it, and how to see it again."""

from collections.abc import Iterable, Sequence
from urllib.parse import quote

from crashloop.report.causes import Accusation, Cause, missed_in_words
from crashloop.report.document import (
    Article,
    Badge,
    Block,
    Cell,
    CurveKey,
    Figure,
    Figures,
    Inline,
    Listing,
    Medium,
    Paragraph,
    Row,
    Section,
    Span,
    Table,
    Words,
)
from crashloop.report.rerun import run_again
from crashloop.report.results import Results
from crashloop.report.text import anchor_of, counted, lines_text, printable
from crashloop.report.timeline import Timeline, excerpt, timeline_svg, with_breach

MOST_CARDS = 30
"""Of a page; text media have a row for each cause."""
MOST_NAMED = 3
"""Places where the same was found, by name."""


def cause_section(results: Results, causes: Sequence[Cause]) -> Section:
    """Every cause: cards on a page, rows elsewhere."""
    if not causes:
        return Section("causes", "", ())
    rows = tuple(_row(each, results) for each in causes)
    more = len(causes) - MOST_CARDS
    cards = tuple(_card(position, each, results) for position, each in enumerate(causes[:MOST_CARDS]))
    has_timeline = any(isinstance(block, Figures) for card in cards for block in card.blocks)
    return Section(
        "causes",
        f"What needs attention: {counted(len(causes), 'cause')}",
        (
            *cards,
            *(
                (Paragraph(f"{counted(more, 'further cause')} below, in the verdicts.", on=Medium.PAGE),)
                if more > 0
                else ()
            ),
            *((CurveKey("timelines"),) if has_timeline else ()),
            Table(("Outcome", "What happened", "What that means"), rows, on=Medium.TEXT),
        ),
    )


def _row(cause: Cause, results: Results) -> Row:
    """For text media: outcome, what happened, and what that breaks with its evidence."""
    evidence = _evidence(cause.first)
    details = (
        *(Paragraph(each, "said") for each in cause.others[:MOST_NAMED]),
        *((Paragraph(f"Evidence: {evidence}."),) if evidence else ()),
        Paragraph(f"Again: {run_again(results, cause.requirements[:1])}"),
    )
    what = Cell(
        f"{_capital(cause.broken_in_words)}.{_where(cause)} {_promise(cause, results)}".rstrip(), details=details
    )
    return Row((Cell((Badge.of(cause.standing),)), Cell(cause.sentence), what), cause.standing)


def _promise(cause: Cause, results: Results) -> str:
    """The sentence of the first requirement, from the catalogue."""
    requirement = results.requirement(cause.requirements[0])
    return f"{requirement.id}: {requirement.sentence}" if requirement.sentence else ""


def _where(cause: Cause) -> str:
    """The scenarios, as far as there is room."""
    names = tuple(dict.fromkeys(f"{each.ground.scenario} ({each.ground.profile})" for each in cause.accusations))
    more = len(names) - MOST_NAMED
    return f" In {', '.join(names[:MOST_NAMED])}{f' and {more} more' if more > 0 else ''}."


def _evidence(accusation: Accusation) -> str:
    lines = lines_text(accusation.ground.lines)
    return f"{accusation.file} {lines}" if lines else ""


def _card(position: int, cause: Cause, results: Results) -> Article:
    picture = _picture(position, cause, results.timelines)
    quotes = [
        f"{each.line}: {printable(each.text)}"
        for each in results.quotes
        if each.scenario == cause.first.ground.scenario and each.line in cause.first.ground.lines
    ]
    links: list[Inline] = []
    for name in cause.requirements:
        links += [", " if links else "", Span(name, href=f"#{anchor_of(name)}")]
    before, after = cause.around_requirements
    blocks: tuple[Block | None, ...] = (
        Paragraph((_capital(before), *links, f"{after}.{_where(cause)}")),
        Paragraph(_promise(cause, results), "muted"),
        picture,
        *(Paragraph(each, "said") for each in cause.others),
        Paragraph(("Evidence: ", _link(cause.first), f" {lines_text(cause.first.ground.lines)}."))
        if cause.first.ground.lines
        else None,
        Listing("\n".join(quotes)) if quotes else None,
        Listing(run_again(results, cause.requirements[:1])),
    )
    heading: Words = (Badge.of(cause.standing), " ", Span(_capital(cause.sentence), "said"))
    return Article(heading, tuple(each for each in blocks if each is not None), look=f"cause {cause.standing.value}")


def _link(accusation: Accusation) -> Span:
    return Span(accusation.file, "code", quote(accusation.file))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _picture(position: int, cause: Cause, timelines: Iterable[Timeline]) -> Figures | None:
    """The seconds around the breach; None without a history of it."""
    marked = next(filter(None, (_marked(each, cause) for each in timelines)), None)
    if marked is None:
        return None
    name = f"cause-{position + 1}"
    figure = Figure("", timeline_svg(excerpt(marked), name=name), f"Pod {marked.pod}.", emphasis="muted", anchor=name)
    return Figures((figure,), look="timelines")


def _marked(timeline: Timeline, cause: Cause) -> Timeline | None:
    ground = cause.first.ground
    if timeline.scenario != ground.scenario or not ground.lines:
        return None
    missed = cause.missed
    if missed is None:
        return with_breach(timeline, ground.lines[-1:], cause.standing.label)
    bound_s = missed.due_s if missed.latest_s is None else missed.latest_s
    from_s, to_s = sorted((missed.taken_s, bound_s))
    return with_breach(timeline, ground.lines[:1], missed_in_words(missed), from_s=from_s, to_s=to_s)
