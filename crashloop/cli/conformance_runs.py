"""Conformance runs, for the commands about runs."""

from crashloop.cli.suites import Suite
from crashloop.comparison.comparison import compare
from crashloop.comparison.side import JudgedRun
from crashloop.comparison.trend import trend_of_conformance
from crashloop.report.conformance import conformance_document
from crashloop.report.results import Results
from crashloop.run.analysis import analyze, publish, published
from crashloop.rundir import RunDir


def _judged_run(run: RunDir, results: Results) -> JudgedRun:
    binary = run.info().settings.get("kubelet_binary")
    return JudgedRun(results, None if binary is None else str(binary))


SUITE = Suite(
    open=RunDir.open,
    results_file=lambda run: run.results_json,
    judge=lambda run, _: analyze(run),
    published=published,
    publish=publish,
    document=conformance_document,
    side=_judged_run,
    compare=lambda before, after, values_count: compare(before, after, values_count=values_count),
    judged_run=_judged_run,
    trend_run=trend_of_conformance,
)
