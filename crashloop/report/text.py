"""Words and numbers of the views. Findings and logs come from outside: nothing in them may act on a reader's screen."""

import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import pairwise

from crashloop.verdict import Evidence

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls: terminal escapes, and what XML cannot hold
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction marks, which make a line read differently from what it says
    "\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str) -> str:
    """The text with control characters, direction marks and lone surrogates spelled out; tabs and line ends stay."""
    return _UNPRINTABLE.sub(lambda match: _spelled(ord(match.group())), text)


def _spelled(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def shortened(text: str, at_most: int) -> str:
    """The beginning of a text that is too long, and how much is missing."""
    return text if len(text) <= at_most else f"{text[:at_most]} … ({len(text) - at_most} more characters)"


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 verdict`, `3 verdicts`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def seconds(value: float | None) -> str:
    """Seconds without needless digits: 0.22, 2.6, 12.65, 161.3, 300."""
    if value is None:
        return "–"
    return f"{value:.1f}".removesuffix(".0") if abs(value) >= 100 else f"{value:.2f}".rstrip("0").rstrip(".")


def took(duration: timedelta) -> str:
    """`47 s`, `2 min 14 s`, `1 h 05 min`."""
    whole = round(duration.total_seconds())
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def lines_text(lines: Sequence[int]) -> str:
    """`line 4`, `lines 9-12, 40`; empty for none."""
    if not lines:
        return ""
    ordered = sorted(set(lines))
    breaks = [0, *(i for i, (a, b) in enumerate(pairwise(ordered), start=1) if b != a + 1), len(ordered)]
    runs = [(ordered[start], ordered[end - 1]) for start, end in pairwise(breaks)]
    text = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)
    return f"{'line' if len(ordered) == 1 else 'lines'} {text}"


def evidence_text(evidence: Iterable[Evidence]) -> str:
    """`history/a.jsonl lines 9, 12; recorder.log`."""
    return "; ".join(f"{each.file} {lines_text(each.lines)}".strip() for each in evidence)


def anchor_of(requirement: str) -> str:
    """Id of the first row of a requirement in report.html."""
    return "req-" + re.sub(r"[^A-Za-z0-9-]", "-", requirement)
