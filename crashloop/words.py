"""Spelling of numbers and places in findings, and columns of plain text."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence


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
    """`1 delay`, `3 delays`, `3 statuses of a pod`, `3 lives`."""
    several = (
        noun + "es" if noun.endswith("s") else noun.removesuffix("fe") + "ves" if noun.endswith("fe") else noun + "s"
    )
    return f"{number} {noun if number == 1 else several}{' ' + rest if rest else ''}"


def aligned(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """One line per row, however long: each column is as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(map(str.ljust, line, widths)).rstrip()


_KINDS = {
    "object": "a mapping", "array": "a list", "str": "text", "int": "a whole number", "float": "a number",
    "bool": "true or false", "null": "nothing",
}  # fmt: skip
_SAID: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"Expected `([^`]*)`, got `([^`]*)`"), lambda m: f"expected {_kinds(m[1])}, not {_kinds(m[2])}"),
    (re.compile(r"Expected `(\w+)` (.*)", re.DOTALL), lambda m: f"expected {_kinds(m[1])} {m[2]}"),
    (re.compile(r"Object missing required field `(.*)`"), lambda m: f"{m[1]} is missing"),
    (re.compile(r"Object contains unknown field `(.*)`"), lambda m: f"there is no field {m[1]}"),
    (re.compile(r"Invalid (?:enum )?value (.*)", re.DOTALL), lambda m: f"{m[1]} is none of its values"),
    (re.compile(r"Input data was truncated"), lambda _: "it is empty or cut off"),
)


def in_words(error: Exception, place: str = "") -> str:
    """What msgspec says of plain data, for who does not know its words: `spec.a[0]: expected text, not a list`."""
    said, _, path = str(error).rpartition(" - at `$")
    fault = said or str(error)
    for pattern, spelt in _SAID:
        if match := pattern.fullmatch(fault):
            fault = spelt(match)
            break
    where = f"{place}{path.rstrip('`')}" if said else place
    return f"{where.lstrip('.')}: {fault}" if where else fault


def _kinds(names: str) -> str:
    return " or ".join(_KINDS.get(each, each) for each in names.split(" | ") if each != "null" or names == "null")
