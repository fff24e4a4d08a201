"""Which metrics an alert reads."""

from pathlib import Path

import pytest

from crashloop.alerts.promtool import Rules, metrics_of


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
