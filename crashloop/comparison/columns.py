"""Tables on a terminal and in a log: the same cells, with lines or aligned."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from crashloop.report.terminal import print_line
from crashloop.report.text import printable


def print_table(header: Sequence[str], rows: Sequence[Sequence[Text]], console: Console) -> None:
    """Print rows of cells. On a terminal the last column fills the remaining width; a log has one line per row."""
    if console.is_terminal:
        table = Table(*header[:-1], box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column(header[-1], overflow="fold", ratio=1)
        for row in rows:
            table.add_row(*row)
        console.print(table)
        return
    lines = [header, *([cell.plain for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print_line(console, "  ".join(map(str.ljust, line, widths)).rstrip())


def cell(text: str, style: str = "") -> Text:
    """A cell without control characters."""
    return Text(printable(text), style)
