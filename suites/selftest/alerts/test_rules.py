"""Which metrics an alert reads."""

import json
from pathlib import Path
from typing import Any

import pytest

from crashloop.alerts.rules import Rules, metrics_of


@pytest.mark.parametrize(
    ("expression", "metrics"),
    [
        ('max_over_time(kube_pod_info{reason="up or down"}[5m]) >= 1', {"kube_pod_info"}),
        ("sum by (namespace, pod) (a) / on(pod) group_left(node) b > bool 1e3", {"a", "b"}),
        ("rate(a[5m:30s] offset 1h) * 60 * 0x1f and b unless c # d", {"a", "b", "c"}),
        ("sum(a) by (x) + count without (y) (b) AND ON (z) c", {"a", "b", "c"}),
        ("namespace:kube_pod_info:sum > time() - Inf", {"namespace:kube_pod_info:sum"}),
        ('{__name__=~"kube_.*"} > 1', {"__name__"}),
        ("absent(up{job='x'})", {"up"}),
    ],
)
def test_only_what_is_scraped_counts(expression: str, metrics: set[str]) -> None:
    assert set(metrics_of(expression)) == metrics


def test_what_a_rule_records_counts_as_what_it_reads_itself() -> None:
    records = {"ns:a:sum": "sum(a) + ns:a:sum", "ns:b:sum": "sum(ns:a:sum) + b"}
    assert Rules(Path(), {"A": "ns:b:sum > ns:c:sum and ALERTS"}, records).reads("A") == {"a", "b", "ns:c:sum"}


def test_only_rules_that_an_alert_reads_are_evaluated_for_it() -> None:
    rules: list[dict[str, Any]] = [
        {"record": "a:sum", "expr": "sum(a)"},
        {"record": "b:sum", "expr": "a:sum"},
        {"record": "c:sum", "expr": "c"},
        {"alert": "A", "expr": "b:sum > 1"},
        {"alert": "C", "expr": "c:sum > 1"},
    ]
    rules[3]["annotations"] = {"summary": "{{ $value }}"}
    text = json.dumps({"groups": [{"name": "g", "interval": "1m", "rules": rules}, {"name": "h", "rules": rules[2:3]}]})
    records = {each["record"]: each["expr"] for each in rules if "record" in each}
    kept = Rules(Path(), {"A": "b:sum > 1", "C": "c:sum > 1"}, records, text).only(["A"])
    (group,) = json.loads(kept.text)["groups"]
    assert "annotations" not in group["rules"][2]
    assert (group["interval"], [*kept.alerts]) == ("1m", ["A"])
    assert [each.get("record", each.get("alert")) for each in group["rules"]] == ["a:sum", "b:sum", "A"]
    any_metric = Rules(Path(), {"A": '{__name__=~"c.*"} > 1'}, records, text).only(["A"])
    assert len(json.loads(any_metric.text)["groups"]) == 2


def file_of(*rules: dict[str, object], **group: object) -> Rules:
    return Rules(Path(), {}, {}, json.dumps({"groups": [{"name": "g", "rules": rules, **group}]}))


@pytest.mark.parametrize(
    "expression",
    [
        'increase(a{reason="sum(x)"}[1h:5m] offset 1m) > 5 or b unless c and (d)',
        "sum by (namespace, pod) (max BY(pod) (a) * on(pod) group_left(owner) topk(1, b) by (pod)) > 0",
        "count_over_time(a[5m]) - changes(b[5m]) > bool 1",
    ],
)
def test_rules_of_single_pods_are_evaluated_for_many_at_once(expression: str) -> None:
    assert file_of({"alert": "A", "expr": expression}).keeps_pods_apart()


@pytest.mark.parametrize(
    "expression",
    [
        "sum(a) > 1",
        "sum by (namespace) (a) > 1",
        "sum by (pod) (a) / sum(a)",
        "sum without (container) (a)",
        "a * on(namespace) group_left(pod) b",
        "a / ignoring(uid) b",
        "absent(a)",
        "absent_over_time(a[5m])",
        "a > scalar(b)",
        "a and hour() > 3",
        'label_replace(a, "pod", "x", "", "")',
        "a unless ALERTS",
    ],
)
def test_rules_that_may_look_at_several_pods_see_one(expression: str) -> None:
    assert not file_of({"alert": "A", "expr": "a"}, {"record": "r", "expr": expression}).keeps_pods_apart()


def test_a_rule_that_gives_its_alert_another_pod_or_asks_in_a_label_sees_one() -> None:
    assert not file_of({"alert": "A", "expr": "a", "labels": {"pod": "x"}}).keeps_pods_apart()
    assert not file_of(
        {"alert": "A", "expr": "a", "labels": {"n": '{{ query "count(a)" | first }}'}}
    ).keeps_pods_apart()
    assert not file_of({"alert": "A", "expr": "a"}, labels={"pod": ""}).keeps_pods_apart()
