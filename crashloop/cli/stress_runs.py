"""Stress runs, for the commands about runs."""

from crashloop.cli.suites import Suite, is_writable
from crashloop.comparison.side import JudgedRun
from crashloop.comparison.stress import compare_stress
from crashloop.comparison.trend import trend_of_stress
from crashloop.comparison.values import JudgedStressRun
from crashloop.report.stress.document import stress_document
from crashloop.report.stress.results import StressResults, run_results
from crashloop.stress.folder import StressDir, publish_stress, published_stress
from crashloop.stress.judging import judge_run


def _side(run: StressDir, results: StressResults) -> JudgedStressRun:
    plan = run.stress_plan()
    return JudgedStressRun(results, plan.load, plan.kubelets, plan.cores)


SUITE = Suite(
    open=StressDir.open,
    results_file=lambda run: run.slo_json,
    judge=lambda run, keeps: judge_run(run, keeps_lifecycles=keeps and is_writable(run.metrics_dir)),
    published=published_stress,
    publish=publish_stress,
    document=stress_document,
    side=_side,
    compare=lambda before, after, values_count: compare_stress(before, after, values_count=values_count),
    judged_run=lambda _, results: JudgedRun(run_results(results)),
    trend_run=trend_of_stress,
)
