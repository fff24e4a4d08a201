"""Spelling of numbers and places in findings, and columns of plain text."""

from collections.abc import Iterable, Iterator, Sequence


def seconds(value_s: float, *, unlike: float | None = None) -> str:
    """`1.2 s`; with as many decimals (3, 6 or 9) as it takes to differ from `unlike`."""
    for decimals in (3, 6, 9):
        text = _trimmed(value_s, decimals)
        if unlike is None or value_s == unlike or text != _trimmed(unlike, decimals):
            break
    return f"{text} s"


def _trimmed(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def at_lines(lines: Iterable[int]) -> str:
    """`(history line 9)`, `(history lines 9 and 12)`; empty for none."""
    numbers = sorted(set(lines))
    if not numbers:
        return ""
    if len(numbers) == 1:
        return f"(history line {numbers[0]})"
    return f"(history lines {', '.join(map(str, numbers[:-1]))} and {numbers[-1]})"


def count(number: int, noun: str, rest: str = "") -> str:
    """`1 delay`, `3 delays`, `3 statuses of a pod`."""
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number} {noun}{ending}{' ' + rest if rest else ''}"


def aligned(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """One line per row, however long: each column is as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(map(str.ljust, line, widths)).rstrip()
