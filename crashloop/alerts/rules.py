"""Rules of Prometheus in a file, or in objects of its operator, checked by promtool; and the metrics that each alert reads."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from crashloop.cluster.processes import CommandFailed, run
from crashloop.errors import UsageError
from crashloop.stress.pod_template import objects_in
from crashloop.yaml_text import Unreadable, documents, read_yaml, text_of

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
    text: str = ""
    """As Prometheus reads it, whatever object it was in."""

    def reads(self, alert: str) -> set[str]:
        """The scraped metrics that an alert reads, also by rules that record."""
        return self._scraped(self.alerts[alert], frozenset())

    def only(self, alerts: Collection[str]) -> "Rules":
        """These alerts, with the rules that they read: promtool evaluates every rule that it is given, at every moment.

        They lose their annotations, which it would write anew each time.
        """
        read = set[str]()
        for name in alerts:
            self._recorded(self.alerts[name], read)
        groups = [
            {
                **group,
                "rules": [
                    {field: value for field, value in each.items() if field != "annotations"}
                    for each in group.get("rules") or ()
                    if _name(each.get("alert")) in alerts or _name(each.get("record")) in read
                ],
            }
            for group in (read_yaml(self.text) or {}).get("groups") or ()
        ]
        text = json.dumps({"groups": [each for each in groups if each["rules"]]})
        return Rules(self.path, {name: self.alerts[name] for name in alerts}, self.records, text)

    def keeps_pods_apart(self) -> bool:
        """Whether they surely say of a pod, by its label, what they would say if there was no other."""
        groups = read_yaml(self.text)["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        labels = [each.get("labels") or {} for each in (*groups, *rules)]
        return all(_keeps_pods_apart(str(rule["expr"])) for rule in rules) and not any(
            "pod" in each or "query" in str(each) for each in labels
        )

    def _recorded(self, expression: str, found: set[str]) -> None:
        """Adds the rules that record which an expression reads."""
        names = set(metrics_of(expression))
        for name in (self.records.keys() if BY_NAME in names else names & self.records.keys()) - found:
            found.add(name)
            self._recorded(self.records[name], found)

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


_SELECTED = re.compile(r"\{[^}]*\}|\[[^\]]*\]")
_LISTED = re.compile(r"\b(by|on)\s*\(([^)]*)\)", re.IGNORECASE)
_CALLED = re.compile(r"\b([a-z_]\w*)\s*\(", re.IGNORECASE)
_AGGREGATES = re.compile(
    r"\b(?:sum|avg|min|max|count|group|stddev|stdvar|topk|bottomk|quantile|count_values)\b", re.IGNORECASE
)
_OF_EACH_SERIES = re.compile(
    r"(?!absent)\w+_over_time|i?rate|increase|i?delta|deriv|changes|resets|abs|ceil|floor|round|clamp_(?:min|max)|timestamp|"
    rf"by|on|group_(?:left|right)|and|or|unless|bool|{_AGGREGATES.pattern}",
    re.IGNORECASE,
)


def _keeps_pods_apart(expression: str) -> bool:
    """No function is called but those of one series, and pods are neither added up nor matched with each other."""
    bare = _SELECTED.sub(" ", _TEXT.sub(" ", expression))
    lists = _LISTED.findall(bare)
    return (
        all(_OF_EACH_SERIES.fullmatch(each) for each in _CALLED.findall(bare))
        and all(re.search(r"\bpod\b", labels) for _, labels in lists)
        and len(_AGGREGATES.findall(bare)) == sum(word.lower() == "by" for word, _ in lists)
        and not re.search(r"\b(?:without|ignoring|ALERTS\w*)\b", bare, re.IGNORECASE)
    )


def load_rules(path: Path, promtool: Path) -> Rules:
    """The rules of a file, or of the PrometheusRules in it.

    Raises UsageError if it cannot be read, if Prometheus refuses it, and if it has no alert.
    """
    try:
        text = text_of(path)
        read = documents(text)
    except Unreadable as error:
        raise UsageError(f"rules {path}: cannot be read ({error}).") from error
    if fault := _other_than_rules(read):
        raise UsageError(
            f"rules {path}: {fault}.\nExpected a file of rules, with groups, or PrometheusRules of Prometheus' operator."
        )
    text = _of_operator(read) or text
    with in_a_file(text) as file:
        try:
            run([promtool, "check", "rules", file], describe="promtool check rules", timeout_s=CHECK_S)
        except CommandFailed as error:
            said = error.output.partition("FAILED:")[2].strip() or error.output.strip()
            said = said.replace(f"{file}: ", "").replace(str(file), str(path))
            version = _version(promtool)
            raise UsageError(f"rules {path}: Prometheus{version} refuses them: {said}") from error
    try:
        groups = (read_yaml(text) or {}).get("groups") or ()
    except Unreadable as error:
        raise UsageError(f"rules {path}: cannot be read ({error}).") from error
    rules = [rule for group in groups for rule in group.get("rules") or ()]
    alerts = _by_name(rules, "alert")
    if not alerts:
        raise UsageError(f"rules {path}: no rule is an alert; expected at least one `alert:`.")
    return Rules(path, alerts, _by_name(rules, "record"), text)


def _version(promtool: Path) -> str:
    """Of the promtool that speaks, with a space before it: others know fields that it does not. Empty if it does not say."""
    try:
        said = run([promtool, "--version"], describe="promtool --version", timeout_s=CHECK_S)
    except CommandFailed:
        return ""
    found = re.search(r"version ([0-9.]+)", said)
    return f" {found[1]}" if found else ""


_OF_THANOS = "partial_response_strategy"
"""Of a group; the operator leaves it out of what it writes for Prometheus."""
_KIND = "PrometheusRule"


def _other_than_rules(read: list[Any]) -> str:
    """What the documents are, if nothing of Prometheus' rules is in them: a sentence without its full stop. Else empty."""
    objects = [each for each in objects_in(read) if each.get("kind") or each.get("apiVersion")]
    if objects and not any(each.get("kind") == _KIND for each in objects):
        given = str(objects[0].get("kind", "an object without a kind"))
        near = f"; the operator has {_KIND}" if get_close_matches(given.lower(), [_KIND.lower()], 1, 0.8) else ""
        return f"it is {given} ({objects[0].get('apiVersion', 'without apiVersion')}){near}"
    if objects or not any(read):
        return ""
    others = [each for each in read if each and not (isinstance(each, dict) and "groups" in each)]
    if not others:
        return ""
    return (
        f"it has {', '.join(map(str, others[0]))[:100]}, and no groups"
        if isinstance(others[0], dict)
        else "it is no mapping"
    )


def _of_operator(read: list[Any]) -> str:
    """The groups of PrometheusRules (monitoring.coreos.com), as a file of Prometheus; empty without one."""
    specs = [each.get("spec") for each in objects_in(read) if each.get("kind") == _KIND]
    groups = [group for spec in specs if isinstance(spec, dict) for group in spec.get("groups") or ()]
    groups = [
        {field: value for field, value in each.items() if field != _OF_THANOS} if isinstance(each, dict) else each
        for each in groups
    ]
    return json.dumps({"groups": groups}) if specs else ""


@contextmanager
def in_a_file(text: str) -> Iterator[Path]:
    """As promtool takes it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rules.yaml"
        path.write_text(text, encoding="utf-8")
        yield path


def _by_name(rules: list[dict[str, Any]], kind: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for rule in rules:
        if name := _name(rule.get(kind)):
            found[name] = f"{found.get(name, '')}\n{rule['expr']}"
    return found


def _name(value: Any) -> str:
    """Of a rule, as Prometheus reads what is a number or a word of YAML; empty for none."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)
