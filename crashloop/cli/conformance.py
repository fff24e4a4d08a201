"""The commands about runs, for a conformance run."""

from pathlib import Path
from typing import TYPE_CHECKING

from crashloop.cli.command import out
from crashloop.cli.views import RequestedViews, Views, show

if TYPE_CHECKING:
    from crashloop.comparison.side import JudgedRun


def judge_again(run_dir: Path) -> int:
    """Judge an earlier run again, and write its results and views again; the exit code."""
    from crashloop.report.terminal import render
    from crashloop.run.analysis import analyze
    from crashloop.run.publish import publish
    from crashloop.rundir import RunDir

    run = RunDir.open(run_dir)
    results = analyze(run)
    publish(run, results)
    render(results, out, report=str(run.report_html))
    return results.exit_code


def show_verdicts(run_dir: Path) -> None:
    """Show the verdicts of a run, without judging it again."""
    from crashloop.report.terminal import render
    from crashloop.run.publish import published
    from crashloop.rundir import RunDir

    run = RunDir.open(run_dir)
    render(published(run), out, report=str(run.report_html))


def compare_runs(before: Path, after: Path, values_count: bool, requested: RequestedViews) -> int:
    """Show the differences of two runs; the exit code."""
    from crashloop.comparison.comparison import compare
    from crashloop.comparison.markdown import comparison_to_markdown
    from crashloop.comparison.page import comparison_to_html
    from crashloop.comparison.terminal import render_comparison

    comparison = compare(judged_run(before), judged_run(after), delays_count=values_count)
    show(comparison, Views(render_comparison, comparison_to_markdown, comparison_to_html), requested)
    return comparison.exit_code


def judged_run(path: Path) -> "JudgedRun":
    """A run with its results; a run without results is judged now, without a change to its directory.

    Raises UsageError if it is no run directory, is damaged, or is of another format.
    """
    from crashloop.comparison.side import JudgedRun
    from crashloop.run.analysis import analyze
    from crashloop.run.publish import published
    from crashloop.rundir import RunDir

    run = RunDir.open(path)
    results = published(run) if run.results_json.exists() else analyze(run)
    binary = run.info().settings.get("kubelet_binary")
    return JudgedRun(results, None if binary is None else str(binary))
