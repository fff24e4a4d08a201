"""Stress runs to compare, made up by hand: one node is stormed; three promises are judged, one of them a row of a user's own,
and what is said about the run itself."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from crashloop.comparison.values import JudgedStressRun
from crashloop.report.stress.results import NodeResult, RowText, StageResult, StressResults, exit_code_of, outcome_of
from crashloop.slo.measurements import Interval, SloVerdict
from crashloop.slo.rows import Better
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.profile import StressProfile
from crashloop.verdict import Outcome
from suites.selftest.kit.stress_kit import MAX_1S, plan

STARTUP, LATENESS, RATE, PLANNED = "pod-startup-latency", "restart-lateness", "restarts-per-second", "load-as-planned"

ROWS = (
    RowText(id=STARTUP, definition="d", source="s", promise="p99 at most 5 s", better=Better.LOWER),
    RowText(id=LATENESS, definition="d", source="s", promise="p99 at most 3 s", better=Better.LOWER),
    RowText(id=RATE, definition="d", source="s", promise="at least 5 restarts/s", better=Better.HIGHER, phase="storm"),
)
FIGURES: dict[str, float | None] = {
    "restarts_per_s": 6.0,
    "requests_per_restart": 5.0,
    "kubelet_cpu_cores": 0.1,
    "runtime_cpu_cores": 0.4,
    "apiserver_cpu_cores": 0.13,
    "startup_samples": 400.0,
    "startup_p50_s": 0.5,
    "startup_p99_s": 1.0,
    "lateness_samples": 400.0,
    "lateness_p50_s": 0.9,
    "lateness_p99_s": 1.4,
    "foreign_cpu_share": 0.05,
}
AT_REST: dict[str, float | None] = {
    "restarts_per_s": 0.0,
    "kubelet_cpu_cores": 0.03,
    "startup_samples": 32.0,
    "startup_p50_s": 0.5,
    "startup_p99_s": 0.7,
    "lateness_samples": 0.0,
    "foreign_cpu_share": 0.05,
}
NO_INTERVAL = ("startup_samples", "lateness_samples", "foreign_cpu_share")
ENVIRONMENT: dict[str, Any] = {
    "host": {"kernel": "6.18.44", "machine": "x86_64", "cpus": 2, "cgroup_version": 2},
    "nodes": [{"name": "storm", "kubelet": "v1.37.1", "container_runtime": "containerd://2.3.7", "os_image": "Debian"}],
}


def around(value: float) -> Interval:
    """Within a twentieth of a value."""
    return Interval(0.95 * value, 1.05 * value)


def verdict(slo: str, outcome: Outcome, value: float, unit: str, *, mode: str = "report", **more: Any) -> SloVerdict:
    shown: dict[str, Any] = {
        "slo": slo,
        "outcome": outcome,
        "mode": mode,
        "sentence": f"{slo}: {value:g} {unit}.",
        "target": 5.0,
        "unit": unit,
        "value": value,
        "interval": around(value),
        "samples": 400,
    }
    return SloVerdict(**(shown | more))


VERDICTS = {
    PLANNED: verdict(PLANNED, Outcome.PASS, 0, "faults", mode="gate", interval=None, samples=0),
    STARTUP: verdict(STARTUP, Outcome.PASS, 1.0, "s", mode="gate", percentile=99),
    LATENESS: verdict(LATENESS, Outcome.PASS, 1.4, "s", percentile=99),
    RATE: verdict(RATE, Outcome.PASS, 6.0, "restarts/s"),
}
EXTRA = verdict("extra", Outcome.PASS, 1.0, "s", mode="gate")
"""A verdict that only some runs have."""


def stage(name: str = "storm", figures: Mapping[str, float | None] = FIGURES, **more: Any) -> StageResult:
    """A stage with an interval around each of its figures."""
    known = {each: value for each, value in figures.items() if value is not None and each not in NO_INTERVAL}
    shown: dict[str, Any] = {
        "name": name,
        "from_s": 10.0,
        "to_s": 70.0,
        "users": {"healthy": 1, "crashers": 2},
        "figures": dict(figures),
        "intervals": {each: around(value) for each, value in known.items()},
    }
    return StageResult(**(shown | more))


BASELINE = stage("baseline", AT_REST, users={"healthy": 1}, from_s=0.0, to_s=20.0)


def stress_run(
    *verdicts: SloVerdict,
    stages: tuple[StageResult, ...] = (BASELINE, stage()),
    load: StressProfile | None = None,
    kubelet: KubeletProfile = MAX_1S,
    cores: int = 2,
    **more: Any,
) -> JudgedStressRun:
    """The example, with some verdicts replaced or added, and anything else of its results changed."""
    the_plan = plan(kubelet)
    judged = VERDICTS | {each.slo: each for each in verdicts}
    outcome = outcome_of(judged.values())
    results: dict[str, Any] = {
        "profile": "example",
        "description": "",
        "provider": "local",
        "kubernetes_version": "1.37.1",
        "crashloop_version": "0.1.0",
        "run": "20261121T160003Z-stress",
        "started": datetime(2026, 11, 21, 16, 0, 3, tzinfo=UTC),
        "finished": datetime(2026, 11, 21, 16, 4, 3, tzinfo=UTC),
        "outcome": outcome,
        "exit_code": exit_code_of(outcome, interrupted=False),
        "verdicts": tuple(judged.values()),
        "rows": ROWS,
        "nodes": (NodeResult(name="storm", profile=kubelet.name, curve="0, 1 s"),),
        "stages": stages,
        "environment": ENVIRONMENT,
    }
    return JudgedStressRun(StressResults(**(results | more)), load or the_plan.load, the_plan.kubelets, cores)


def edited(slo: str, **changes: Any) -> SloVerdict:
    """A verdict of the example, changed; around its value there is an interval."""
    if "value" in changes and "interval" not in changes:
        changes["interval"] = around(changes["value"])
    return msgspec.structs.replace(VERDICTS[slo], **changes)


def figured(**figures: float | None) -> tuple[StageResult, ...]:
    """The stages of the example with other figures in the storm."""
    return BASELINE, stage(figures=FIGURES | figures)
