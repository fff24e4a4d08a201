"""What readers get of a run, a comparison or an observation, as data; html.py, markdown.py and terminal.py render it.

A builder decides the contents and their order, gravest first; a renderer decides only the form. A terminal is read from its
end, so its renderer reverses the order.
"""

from collections import Counter
from collections.abc import Iterable
from enum import Flag, auto
from typing import NamedTuple, Self

from markupsafe import Markup

from crashloop.report.standing import Standing


class Medium(Flag):
    """Where a part is shown."""

    PAGE = auto()
    """An HTML page."""
    SUMMARY = auto()
    """Markdown, for a GitHub job summary."""
    TERMINAL = auto()
    """A terminal or a CI log."""
    TEXT = SUMMARY | TERMINAL
    ALL = PAGE | TEXT


class Span(NamedTuple):
    """A piece of a line with a look: a class of the page's style, or `code`."""

    text: str
    look: str = ""
    href: str | None = None


class Badge(NamedTuple):
    """An outcome or a change: the tone gives its colour."""

    tone: Standing
    text: str
    symbol: str

    @classmethod
    def of(cls, standing: Standing, text: str = "") -> Self:
        return cls(standing, text or standing.label, standing.symbol)


Inline = str | Span | Badge
Words = str | tuple[Inline, ...]
"""One line."""


class Paragraph(NamedTuple):
    words: Words
    look: str = ""
    """Class of the page's style: note, muted, said (a sentence from outside)."""
    on: Medium = Medium.ALL


class Pairs(NamedTuple):
    """Names and values."""

    rows: tuple[tuple[str, str], ...]
    on: Medium = Medium.PAGE


class Bullets(NamedTuple):
    items: tuple[Words, ...]
    on: Medium = Medium.ALL


class Listing(NamedTuple):
    """Text as it is in a file, or a command."""

    text: str
    on: Medium = Medium.PAGE


class Cell(NamedTuple):
    """`details` are folded below it, unless they need attention; text media show those that are paragraphs."""

    words: Words
    below: str = ""
    """A second line, such as the sentence of a requirement."""
    details: "tuple[Block, ...]" = ()
    is_open: bool = False


class Row(NamedTuple):
    cells: tuple[Cell, ...]
    tone: Standing | None = None
    anchor: str = ""
    look: str = ""
    """Class of the page's style."""


class Table(NamedTuple):
    """Rows of cells."""

    header: tuple[str, ...]
    rows: tuple[Row, ...]
    folded: tuple[Row, ...] = ()
    """Rows that pages and summaries fold, and terminals omit."""
    is_searchable: bool = False
    look: str = "verdicts"
    """Class of the page's style. `verdicts`: the first cell is an outcome, the last one says what was seen."""
    on: Medium = Medium.ALL

    @property
    def tones(self) -> tuple[Standing, ...]:
        """Those of all rows, worst first."""
        found = {each.tone for each in (*self.rows, *self.folded)}
        return tuple(each for each in Standing if each in found)


class Figure(NamedTuple):
    """A picture with its text."""

    heading: Words
    svg: Markup
    caption: str
    sub: Words = ""
    emphasis: str = ""
    """Class of the caption: outside, excusable, muted."""
    legend: tuple[tuple[int, str], ...] = ()
    """Number and name of each line."""
    numbers: Table | None = None
    """The drawn values, folded."""
    left_out: int = 0
    """Values that `numbers` leaves out."""
    anchor: str = ""


class Figures(NamedTuple):
    """Pictures side by side."""

    figures: tuple[Figure, ...]
    heading: str = ""
    look: str = "multiples"
    """Class of the page's style."""
    folded: str = ""
    """What a reader opens to see them; empty: nothing."""
    on: Medium = Medium.PAGE


class Article(NamedTuple):
    """A part of a section, with a heading."""

    heading: Words
    blocks: "tuple[Block, ...]"
    beside: "tuple[Block, ...]" = ()
    """To the right of `blocks`, where the page is wide enough."""
    look: str = ""
    on: Medium = Medium.PAGE
    is_folded: bool = False


class Chip(NamedTuple):
    """A requirement at a glance."""

    number: str
    href: str
    standing: Standing
    title: str


class Chips(NamedTuple):
    """Chips by topic."""

    topics: tuple[tuple[str, tuple[Chip, ...]], ...]
    on: Medium = Medium.PAGE


class CurveKey(NamedTuple):
    """The legend of every plot of delays, or of every timeline."""

    of: str = "delays"
    on: Medium = Medium.PAGE


Block = Paragraph | Pairs | Bullets | Listing | Table | Figures | Article | Chips | CurveKey


class Section(NamedTuple):
    """A section, empty ones are not shown. Without a title it has no heading."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]
    on: Medium = Medium.ALL


class Headline(NamedTuple):
    """The document in a sentence, its meaning, and what to do next."""

    standing: Standing
    sentence: str
    meaning: str = ""
    to_do: str = ""
    label: str | None = None
    """In front of the sentence. None: the standing's; empty: none."""
    symbol: str = ""
    """Before the label. Empty: the standing's."""

    @property
    def mark(self) -> str:
        """`✗ FAIL:`, or `✗` without a label."""
        label = self.standing.label if self.label is None else self.label
        return f"{self.symbol or self.standing.symbol} {label}:".removesuffix(" :")


class Document(NamedTuple):
    """Everything that is shown, gravest first."""

    title: str
    kicker: str
    """The command and its subject."""
    headline: Headline
    sections: tuple[Section, ...]
    origin: str
    """The file that holds the data."""
    data: str = "results.json"
    """What holds the rows that a summary has no room for."""
    tally: tuple[tuple[Standing, int], ...] = ()
    """Verdicts by standing."""
    facts: tuple[tuple[str, str], ...] = ()
    """Names and values below the headline."""
    exit_code: int | None = None
    coverage: str = ""
    """How much was judged, as a sentence; the last line on a terminal."""

    def on(self, medium: Medium) -> "tuple[Section, ...]":
        """The sections of a medium, with its blocks only."""
        parts = (
            each._replace(blocks=tuple(block for block in each.blocks if block.on & medium))
            for each in self.sections
            if each.on & medium
        )
        return tuple(each for each in parts if each.blocks)

    @property
    def counts(self) -> str:
        """`2 FAIL, 1 ERROR, 44 PASS`."""
        return ", ".join(f"{number} {standing.label}" for standing, number in self.tally if number)


def plain(words: Words) -> str:
    """A line without looks."""
    return words if isinstance(words, str) else "".join(each if isinstance(each, str) else each.text for each in words)


def row(*texts: str) -> Row:
    """A row of plain cells."""
    return Row(tuple(map(Cell, texts)))


def table(header: tuple[str, ...], *rows: tuple[str, ...], look: str = "plain", on: Medium = Medium.ALL) -> Table:
    """A table of plain cells."""
    return Table(header, tuple(row(*each) for each in rows), look=look, on=on)


def outcomes(rows: Iterable[Row]) -> str:
    """The rows by tone: `44 PASS, 1 SKIPPED`."""
    counts = Counter(each.tone for each in rows)
    return ", ".join(f"{counts[standing]} {standing.label}" for standing in Standing if counts[standing])
