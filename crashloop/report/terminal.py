"""A document on a terminal, or in a CI log. Worst last: a terminal is read from its end."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from crashloop.report.document import (
    Badge,
    Block,
    Bullets,
    Cell,
    Document,
    Listing,
    Medium,
    Pairs,
    Paragraph,
    Row,
    Table,
    plain,
)
from crashloop.report.standing import Standing
from crashloop.report.text import printable
from crashloop.words import aligned

STYLES = {
    Standing.FAIL: "bold red",
    Standing.ERROR: "bold magenta",
    Standing.INCONCLUSIVE: "bold yellow",
    Standing.DEVIATION: "blue",
    Standing.REPORTED: "cyan",
    Standing.TEXT: "cyan",
    Standing.PASS: "green",
    Standing.SKIPPED: "dim",
}


def render(document: Document, console: Console, *, report: str = "", code: str = "Exit code") -> None:
    """Print a document; `report` is where the reader finds its page, and `code` what its exit code is."""
    print_line(console, document.kicker)
    for section in reversed(document.on(Medium.TERMINAL)):
        blocks = [each for each in section.blocks if getattr(each, "rows", True)]  # a table may have folded rows only
        if not blocks:
            continue
        print_line(console, "")
        if section.title:
            print_line(console, section.title, "bold")
        for block in blocks:
            _RENDER[type(block)](block, console)
    said = document.headline
    print_line(console, "")
    print_line(console, f"{said.mark} {said.sentence}", STYLES[said.standing])
    ends = (
        said.meaning,
        f"What to do: {said.to_do}" if said.to_do else "",
        f"{document.counts}." if document.counts else "",
        " · ".join(f"{name} {value}" for name, value in document.facts if value),
        f"Report: {report}" if report else "",
        "" if document.exit_code is None else f"{code}: {document.exit_code}",
        document.coverage,
    )
    for each in filter(None, ends):
        print_line(console, each)


def print_line(console: Console, text: str, style: str = "") -> None:
    """Lines are not broken for a log: tools search them; nothing in a text acts on the terminal."""
    console.print(Text(printable(text), style), soft_wrap=not console.is_terminal)


def _table(block: Table, console: Console) -> None:
    if block.look == "verdicts":
        for row in reversed(block.rows):
            _print_verdict(row, console)
    elif block.rows:
        _print_columns(block, console)


def _print_verdict(row: Row, console: Console) -> None:
    """A paragraph per row: outcome and subject, then what was seen."""
    *subject, seen = row.cells
    heading = " ".join(filter(None, (_cell(each) for each in subject)))
    print_line(console, heading, STYLES[row.tone] if row.tone else "")
    for below in filter(None, (each.below for each in subject)):
        print_line(console, f"  {below}", "dim")
    for line in filter(None, _seen(seen)):
        print_line(console, f"  {line}")


def _seen(cell: Cell) -> Iterator[str]:
    yield _cell(cell)
    yield from (plain(each.words) for each in cell.details if isinstance(each, Paragraph) and each.on & Medium.TERMINAL)


def _cell(cell: Cell) -> str:
    parts = cell.words if isinstance(cell.words, tuple) else (cell.words,)
    return "".join(f"{each.symbol} {each.text}" if isinstance(each, Badge) else plain((each,)) for each in parts)


def _print_columns(block: Table, console: Console) -> None:
    """On a terminal the last column fills the remaining width; a log has one line per row. Second lines of cells come last."""
    has_more = any(cell.below for row in block.rows for cell in row.cells)
    header = (*block.header, *([""] if has_more else []))
    rows = [_columns(row, has_more) for row in block.rows]
    if console.is_terminal:
        table = RichTable(*header[:-1], box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column(header[-1], overflow="fold", ratio=1)
        for row in rows:
            table.add_row(*row)
        console.print(table)
        return
    for line in aligned([header, *([cell.plain for cell in row] for row in rows)]):
        print_line(console, line)


def _columns(row: Row, has_more: bool) -> Sequence[Text]:
    style = STYLES[row.tone] if row.tone else ""
    cells = [Text(printable(_cell(each)), style if number == 0 else "") for number, each in enumerate(row.cells)]
    more = " ".join(filter(None, (each.below for each in row.cells)))
    return [*cells, *([Text(printable(more), "dim")] if has_more else [])]


def _print_all(lines: Sequence[str], console: Console) -> None:
    for each in lines:
        print_line(console, each)


_RENDER: dict[type[Block], Callable[[Any, Console], None]] = {
    Paragraph: lambda block, console: print_line(console, plain(block.words)),
    Pairs: lambda block, console: _print_all([f"{name}: {value}" for name, value in block.rows], console),
    Bullets: lambda block, console: _print_all([f"- {plain(each)}" for each in block.items], console),
    Listing: lambda block, console: _print_all(block.text.splitlines(), console),
    Table: _table,
}
"""Blocks that terminals have; pictures and what surrounds them are for pages."""
