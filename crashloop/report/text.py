"""Words and numbers of the views, and nested facts (verdicts, environment, configurations) as flat, readable rows.

Findings and logs come from outside: nothing in them may act on a reader's screen.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

import yaml

from crashloop.verdict import Evidence

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls: terminal escapes, and what XML cannot hold
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction marks, which make a line read differently from what it says
    "\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str) -> str:
    """The text with control characters, direction marks and lone surrogates spelled out; tabs and line ends stay."""
    return _UNPRINTABLE.sub(lambda match: _spelled_out(ord(match.group())), text)


def _spelled_out(code: int) -> str:
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
    """`47 s`, `2 min 14 s`, `1 h 05 min`, `3 d 04 h`, `328 d`."""
    whole = round(duration.total_seconds())
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < _LONG_S:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // _DAY_S} d {whole % _DAY_S // 3600:02d} h" if whole < 10 * _DAY_S else f"{whole // _DAY_S} d"


_DAY_S = 86_400
_LONG_S = 2 * _DAY_S
"""From then on, people count days."""


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


MAX_TEXT = 2000
"""Characters of one fact that a view shows; results.json holds all of it."""


def node_facts(environment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows of `nodes` in environment.json; none if the run ended before."""
    nodes = environment.get("nodes")
    return [node for node in nodes if isinstance(node, Mapping)] if isinstance(nodes, list) else []


def flattened(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """`{"host": {"cpus": 2}}` as `("host.cpus", "2")`, in the given order; empty values are left out.

    A list of mappings has one row each: `("nodes.max-1s", "kubelet v1.37.1, kernel 6.1.0")`.
    """
    for key, value in facts.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from flattened(value, f"{name}.")
        elif isinstance(value, list | tuple) and any(isinstance(each, Mapping) for each in value):
            yield from (_row_of_item(name, position, each) for position, each in enumerate(value))
        elif value not in ((), [], None, ""):
            yield name, shortened(_plain_value(name, value), MAX_TEXT)


def _row_of_item(name: str, position: int, value: Any) -> tuple[str, str]:
    if not isinstance(value, Mapping):
        return f"{name}.{position}", shortened(_plain_value(name, value), MAX_TEXT)
    own_name = value.get("name", position)
    parts = (f"{key} {text}" for key, text in flattened(value) if key != "name")
    return f"{name}.{own_name}", shortened(", ".join(parts), MAX_TEXT)


def _plain_value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and name.endswith("_bytes"):
        return f"{value / 2**30:.1f} GiB"
    if isinstance(value, float):
        return seconds(value)
    if isinstance(value, list | tuple):
        return ", ".join(_plain_value(name, each) for each in value)
    return str(value)


def config_yaml(config: Mapping[str, Any]) -> str:
    """A KubeletConfiguration fragment as a person would write it."""
    if not config:
        return "# nothing is set: the kubelet's defaults\n"
    return yaml.safe_dump(dict(config), sort_keys=False, default_flow_style=False, allow_unicode=True)
