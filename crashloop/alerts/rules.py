"""A file of Prometheus' rules: checked by promtool, and which metrics each alert reads."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from crashloop.cluster.processes import CommandFailed, run
from crashloop.errors import UsageError
from crashloop.yaml_text import Unreadable, read_yaml, text_of

CHECK_S = 60.0
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`[^`]*`|#[^\n]*')
_NO_METRIC = re.compile(
    r"\{[^}]*\}|\[[^\]]*\]|\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", re.IGNORECASE
)
_NAME = re.compile(r"(?<![\w.:])[a-zA-Z_:][\w:]*(?!\s*\()(?![\w:])")
_WORDS = frozenset({"and", "or", "unless", "bool", "offset", "group_left", "group_right", "atan2", "inf", "nan"})
"""Of PromQL, that may stand where a metric stands."""
_BUILT_IN = frozenset({"ALERTS", "ALERTS_FOR_STATE"})
BY_NAME = "__name__"
"""The label by which an expression can read any metric."""


class Rules(msgspec.Struct, frozen=True):
    """A file of rules that Prometheus takes. Expressions are by name, in the order of the file; of several, all."""

    path: Path
    alerts: Mapping[str, str]
    records: Mapping[str, str]

    def reads(self, alert: str) -> set[str]:
        """The scraped metrics that an alert reads, also by rules that record."""
        return self._scraped(self.alerts[alert], frozenset())

    def _scraped(self, expression: str, seen: frozenset[str]) -> set[str]:
        found: set[str] = set()
        for name in set(metrics_of(expression)) - seen - _BUILT_IN:
            recorded = self.records.get(name)
            found |= {name} if recorded is None else self._scraped(recorded, seen | {name})
        return found


def metrics_of(expression: str) -> Iterator[str]:
    """The metrics that a PromQL expression names outside of `{}`; `__name__` if it names any inside."""
    bare = _TEXT.sub(" ", expression)
    if BY_NAME in bare:
        yield BY_NAME
    for name in _NAME.findall(_NO_METRIC.sub(" ", bare)):
        if name.lower() not in _WORDS:
            yield name


def load_rules(path: Path, promtool: Path) -> Rules:
    """The rules of a file. Raises UsageError if it cannot be read, if Prometheus refuses it, and if it has no alert."""
    try:
        text = text_of(path)
    except Unreadable as error:
        raise UsageError(f"rules {path}: cannot be read ({error}).") from error
    try:
        run([promtool, "check", "rules", path], describe="promtool check rules", timeout_s=CHECK_S)
    except CommandFailed as error:
        said = error.output.partition("FAILED:")[2].strip() or error.output.strip()
        raise UsageError(f"rules {path}: Prometheus refuses them: {said}") from error
    try:
        groups = (read_yaml(text) or {}).get("groups") or ()
    except Unreadable as error:
        raise UsageError(f"rules {path}: cannot be read ({error}).") from error
    rules = [rule for group in groups for rule in group.get("rules") or ()]
    alerts = _by_name(rules, "alert")
    if not alerts:
        raise UsageError(f"rules {path}: no rule is an alert; expected at least one `alert:`.")
    return Rules(path, alerts, _by_name(rules, "record"))


def _by_name(rules: list[dict[str, Any]], kind: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for rule in rules:
        if name := rule.get(kind):
            found[name] = f"{found.get(name, '')}\n{rule['expr']}"
    return found
