"""The commands about runs, for a conformance run."""

from pathlib import Path
from typing import TYPE_CHECKING

from crashloop.cli.run_directory import Report, unless_read_only

if TYPE_CHECKING:
    from crashloop.comparison.comparison import Comparison
    from crashloop.comparison.side import JudgedRun


def judged_again(run_dir: Path) -> Report:
    """Judge an earlier run again, and write its results and views again."""
    from crashloop.report.conformance import conformance_document
    from crashloop.run.analysis import analyze
    from crashloop.run.publish import publish
    from crashloop.rundir import RunDir

    run = RunDir.open(run_dir)
    results = analyze(run)
    unless_read_only(run, lambda: publish(run, results))
    return Report(results, conformance_document(results))


def report_of(run_dir: Path) -> Report:
    """The report of a run, without judging it again."""
    from crashloop.report.conformance import conformance_document
    from crashloop.run.publish import published
    from crashloop.rundir import RunDir

    results = published(RunDir.open(run_dir))
    return Report(results, conformance_document(results))


def compared(before: Path, after: Path, values_count: bool) -> "Comparison":
    """The differences of two runs."""
    from crashloop.comparison.comparison import compare

    return compare(judged_run(before), judged_run(after), values_count=values_count)


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
