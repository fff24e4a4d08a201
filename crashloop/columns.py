"""Columns of plain text."""

from collections.abc import Iterator, Sequence


def aligned(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """One line per row, however long: each column is as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(map(str.ljust, line, widths)).rstrip()
