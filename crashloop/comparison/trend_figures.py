"""The figures that a trend follows, of a run of each suite."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from statistics import median

from crashloop.comparison.side import JudgedRun, key_of
from crashloop.comparison.stress.figures import KEY_FIGURES
from crashloop.comparison.stress.side import JudgedStressRun
from crashloop.comparison.trend import TrendKey, TrendRun
from crashloop.report.results import RunResults
from crashloop.report.standing import Standing
from crashloop.report.stress.results import SUITE, Comparison, StageResult, run_results
from crashloop.spec.scenario import Mode

NOT_PASSED = (Standing.FAIL, Standing.ERROR, Standing.INCONCLUSIVE)


def trend_of_conformance(run: JudgedRun) -> TrendRun:
    """Outcomes, lateness of restarts by the kubelet's own timer, and the duration of the run."""
    results = run.results
    figures = _outcomes(results.counts) | {"duration_s": (results.finished - results.started).total_seconds()}
    late = [
        delay.created_s - delay.due_s
        for curve in results.curves
        if curve.mode == Mode.NATURAL
        for delay in curve.delays
        if delay.created_s is not None and not delay.alternatives
    ]
    if late:
        figures["lateness_p50_s"] = median(late)
    return TrendRun(
        run=results.run,
        started=results.started,
        key=TrendKey(suite=results.suite, load=results.scope, system=str(key_of(run)), host=_host(results)),
        figures=figures,
    )


def trend_of_stress(run: JudgedStressRun) -> TrendRun:
    """Outcomes, the key figures of every stage with crashing pods, and what equal arms seemed to differ by (A/A)."""
    results = run.results
    return TrendRun(
        run=results.run,
        started=results.started,
        key=TrendKey(suite=SUITE, load=results.profile, system=str(run.key), host=_host(results)),
        figures=_outcomes(run_results(results).counts)
        | dict(_of_stages(results.stages))
        | dict(_of_equal_arms(results.comparisons)),
    )


def _outcomes(counts: Mapping[Standing, int]) -> dict[str, float]:
    return {"FAIL, ERROR or INCONCLUSIVE": float(sum(counts.get(each, 0) for each in NOT_PASSED))}


def _of_stages(stages: Iterable[StageResult]) -> Iterator[tuple[str, float]]:
    """Blocks of one stage as their median."""
    found: dict[str, list[float]] = defaultdict(list)
    for stage in stages:
        label = ", ".join(filter(None, (stage.name, stage.mix, stage.arm)))
        for each in KEY_FIGURES if stage.crashing_pods else ():
            value = stage.figures.get(each.measure.name)
            if value is not None:
                found[f"{label}: {each.measure.name}"].append(value)
    for name, values in found.items():
        yield name, median(values)


def _of_equal_arms(comparisons: Iterable[Comparison]) -> Iterator[tuple[str, float]]:
    """The primary effects between arms of one kubelet profile, as logarithms, and half of the intervals within the run."""
    for comparison in comparisons:
        for effect in comparison.effects if comparison.baseline == comparison.treatment else ():
            bounds = None if effect.ratio_interval is None else effect.ratio_interval.bounds
            if effect.primary and effect.ratio and bounds and bounds[0] > 0:
                label = ", ".join(filter(None, ("A/A", comparison.mix, effect.what)))
                yield f"{label}: log_ratio_percent", 100 * math.log(effect.ratio)
                yield f"{label}: half_interval_percent", 50 * math.log(bounds[1] / bounds[0])


def _host(results: RunResults) -> str:
    """Processor and number of CPUs, as far as they are known."""
    host = results.environment.get("host") or {}
    return f"{host.get('cpu_model') or 'unknown processor'}, {host.get('cpus') or '?'} CPUs"
