"""A document as Markdown, for a GitHub job summary."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from crashloop.report.document import (
    Badge,
    Block,
    Bullets,
    Cell,
    Document,
    Inline,
    Listing,
    Medium,
    Pairs,
    Paragraph,
    Row,
    Table,
    Words,
    outcomes,
)
from crashloop.report.text import printable, shortened

MAX_TABLE_BYTES = 450_000
"""Size of a table: GitHub drops a job summary of more than 1 MiB completely."""

MAX_FINDING = 400
"""Characters of a line in a cell."""

_MARKUP = re.compile(r"([\\`*_\[\]|~#])")


def to_markdown(document: Document) -> str:
    """The summary."""
    said = document.headline
    numbers = [f"{name} {value}" for name, value in document.facts if value]
    numbers += [] if document.exit_code is None else [f"exit code {document.exit_code}"]
    parts = [
        f"## {escaped(f'{said.mark} {said.sentence}')}",
        escaped(said.meaning),
        f"**What to do:** {escaped(said.to_do)}" if said.to_do else "",
        escaped(" · ".join((document.kicker, *numbers))),
        " ".join(filter(None, (f"{document.counts}." if document.counts else "", escaped(document.coverage)))),
    ]
    for section in document.on(Medium.SUMMARY):
        parts.append(f"### {escaped(section.title)}" if section.title else "")
        parts += (_RENDER[type(block)](block, document) for block in section.blocks)
    return "\n\n".join(filter(None, parts)) + "\n"


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, rest: str = "the run directory", right: bool = False
) -> str:
    """A table of Markdown cells; rows beyond MAX_TABLE_BYTES are referred to `rest`. `right`: numbers after the first column."""
    rule = ["---", *(["--:" if right else "---"] * (len(header) - 1))]
    lines = [f"| {' | '.join(each)} |" for each in (header, rule)]
    size, left_out = 0, 0
    for cells in rows:
        line = f"| {' | '.join(cells)} |"
        size += len(line.encode())
        if size > MAX_TABLE_BYTES:
            left_out += 1
        else:
            lines.append(line)
    return "\n".join([*lines, *([f"\n{left_out} more are in {rest}."] if left_out else [])])


def _table(block: Table, document: Document) -> str:
    header = [*map(escaped, block.header)]
    shown = [table(header, map(_cells, block.rows), rest=document.data)] if block.rows else []
    if block.folded:
        folded = table(header, map(_cells, block.folded), rest=document.data)
        shown += [f"<details><summary>{outcomes(block.folded)}</summary>", folded, "</details>"]
    return "\n\n".join(shown)


def _cells(row: Row) -> tuple[str, ...]:
    return tuple(map(_cell, row.cells))


def _cell(cell: Cell) -> str:
    head = " ".join(filter(None, (_words(cell.words), escaped(cell.below))))
    more = [_words(each.words) for each in cell.details if isinstance(each, Paragraph) and each.on & Medium.SUMMARY]
    return "<br>".join(filter(None, (head, *more)))


def _words(words: Words) -> str:
    return escaped(shortened(words, MAX_FINDING)) if isinstance(words, str) else "".join(map(_inline, words))


def _inline(part: Inline) -> str:
    if isinstance(part, str):
        return escaped(part)
    if isinstance(part, Badge):
        return f"{part.symbol} {escaped(part.text)}"
    return _LOOKS.get(part.look, escaped)(part.text)


_RENDER: dict[type[Block], Callable[[Any, Document], str]] = {
    Paragraph: lambda block, _: _words(block.words),
    Pairs: lambda block, _: "\n".join(f"- {escaped(name)}: {escaped(value)}" for name, value in block.rows),
    Bullets: lambda block, _: "\n".join(f"- {_words(each)}" for each in block.items),
    Listing: lambda block, _: f"```\n{printable(block.text)}\n```",
    Table: _table,
}
"""Blocks that summaries have; pictures and what surrounds them are for pages."""


def _bold(text: str) -> str:
    return f"**{escaped(text)}**"


def escaped(text: str) -> str:
    """Text as one literal line, without markup or HTML."""
    plain = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKUP.sub(r"\\\1", plain).replace("\n", "<br>")


def code(text: str) -> str:
    """A name in code type; names with characters that a code span cannot hold are shown as text."""
    return f"`{text}`" if re.fullmatch(r"[\w.:/ -]+", text) else escaped(text)


_LOOKS: dict[str, Callable[[str], str]] = {"code": code, "scenario": code, "id": _bold}
