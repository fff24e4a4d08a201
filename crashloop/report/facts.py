"""Nested facts (verdicts, environment, configurations) as flat rows that people can read."""

from collections.abc import Iterator, Mapping
from typing import Any

from crashloop.report.text import seconds, shortened

MAX_TEXT = 2000
"""Characters of one fact that a view shows; results.json holds all of it."""


def flattened(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """`{"host": {"cpus": 2}}` as `("host.cpus", "2")`, in the given order; empty containers are left out."""
    for key, value in facts.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from flattened(value, f"{name}.")
        elif isinstance(value, list | tuple) and any(isinstance(each, Mapping) for each in value):
            yield from flattened({str(index): each for index, each in enumerate(value)}, f"{name}.")
        elif value not in ((), [], None, ""):
            yield name, shortened(_plain(value), MAX_TEXT)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return seconds(value)
    if isinstance(value, list | tuple):
        return ", ".join(_plain(each) for each in value)
    return str(value)
