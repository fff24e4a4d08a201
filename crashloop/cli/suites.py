"""The commands about runs, by the suite of the run."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from crashloop.cli import conformance, stress
from crashloop.cli.run_directory import Report
from crashloop.errors import UsageError

if TYPE_CHECKING:
    from crashloop.comparison.comparison import Comparison
    from crashloop.comparison.side import JudgedRun


class Suite(NamedTuple):
    """Functions of run directories."""

    judged_again: Callable[[Path], Report]
    """Judge again, and write results and views; the report."""
    report_of: Callable[[Path], Report]
    """The report of the last judgement."""
    compared: Callable[[Path, Path, bool], "Comparison"]
    """The differences of two runs."""
    judged_run: Callable[[Path], "JudgedRun"]
    """The verdicts, for a matrix."""


SUITES = {
    name: Suite(each.judged_again, each.report_of, each.compared, each.judged_run)
    for name, each in (("conformance", conformance), ("stress", stress))
}
"""By the `suite` of run.json."""


def suite_name(run_dir: Path) -> str:
    """The suite of a run. Raises UsageError without a run, and for an unknown suite."""
    from crashloop.rundir import RunDir

    name = RunDir.open(run_dir).info().suite
    if name not in SUITES:
        raise UsageError(f"run directory {run_dir}: suite {name!r} is unknown; expected one of {', '.join(SUITES)}.")
    return name


def suite_of(run_dir: Path) -> Suite:
    """The functions for a run. Raises UsageError as `suite_name` does."""
    return SUITES[suite_name(run_dir)]
