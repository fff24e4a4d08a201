"""The servers of a run beside the queue model of them."""

from collections.abc import Sequence
from typing import Any

from bench.page.queue_model import Curve, Modelled, modelled
from crashloop.report.markdown import table
from crashloop.report.stress.results import ServedResult, StressResults
from crashloop.slo.text import number
from crashloop.stress.loads import Demand
from crashloop.stress.profile import StressProfile

SEEDS = range(5)
CURVES = {"stock": Curve(), "max-2s": Curve(2.0, 2.0)}
"""By kubelet profile."""
HEADER = (
    "server",
    "kills",
    "model",
    "recovered after",
    "model",
    "highest backlog",
    "model",
    "down",
    "model",
    "throttled",
    "answer p50",
    "answer p99",
    "CPU (cores)",
    "probe",
)


def servers(results: StressResults, profile: StressProfile) -> str:
    """One row per server of the first stage: what happened, and what the model says of it."""
    stage = results.stages[0]
    rows = []
    for each in results.served:
        load = profile.loads[each.load]
        if each.stage == stage.name and isinstance(load, Demand):
            curve = CURVES[profile.node(load.node).profile]
            model = [modelled(load, curve, long_s=stage.to_s - stage.from_s, seed=seed) for seed in SEEDS]
            rows.append(_row(each, model, has_burst=bool(load.bursts)))
    return table(HEADER, rows, right=True)


def _row(seen: ServedResult, model: Sequence[Modelled], *, has_burst: bool) -> tuple[str, ...]:
    recoveries = [each.recovery_s for each in model]
    recovered = [each for each in recoveries if each is not None]
    in_model = _range(recovered, " s") + ("" if len(recovered) == len(model) else ", or not") if recovered else "not"
    after = "not" if seen.figures.get("unrecovered") else _figure(seen, "recovery", " s")
    return (
        seen.load,
        _figure(seen, "kills"),
        _range([each.kills for each in model]),
        after if has_burst else "–",
        in_model if has_burst else "–",
        _figure(seen, "highest-backlog"),
        _range([each.highest_backlog for each in model]),
        _figure(seen, "down-share", " %"),
        _range([each.down_share for each in model], " %"),
        _figure(seen, "throttled", " %"),
        _figure(seen, "answer-latency-p50", " s"),
        _figure(seen, "answer-latency-p99", " s"),
        _figure(seen, "cpu"),
        _figure(seen, "probe-latency", " s"),
    )


def _figure(seen: ServedResult, name: str, unit: str = "") -> str:
    value = seen.figures.get(name)
    least = "≥ " if name in seen.at_least else ""
    return "–" if value is None else f"{least}{number(value)}{unit}"


def _range(values: Sequence[Any], unit: str = "") -> str:
    lowest, highest = round(min(values)), round(max(values))
    return f"{lowest}{unit}" if lowest == highest else f"{lowest} to {highest}{unit}"
