"""The commands about runs, by the suite of the run."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from crashloop.cli import conformance, stress
from crashloop.cli.views import RequestedViews
from crashloop.errors import UsageError

if TYPE_CHECKING:
    from crashloop.comparison.side import JudgedRun


class Suite(NamedTuple):
    """Functions of run directories."""

    judge_again: Callable[[Path], int]
    """Judge again, write results and views; the exit code."""
    show_verdicts: Callable[[Path], None]
    """Print the verdicts."""
    compare_runs: Callable[[Path, Path, bool, RequestedViews], int]
    """Show the differences of two runs; the exit code."""
    judged_run: Callable[[Path], "JudgedRun"]
    """The verdicts on requirements."""


SUITES = {
    name: Suite(each.judge_again, each.show_verdicts, each.compare_runs, each.judged_run)
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
