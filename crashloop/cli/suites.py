"""What the commands about runs do with the runs of each suite."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from crashloop.cli import conformance, stress
from crashloop.cli.views import Wanted
from crashloop.errors import UsageError

if TYPE_CHECKING:
    from crashloop.comparison.side import JudgedRun


class Suite(NamedTuple):
    """Functions of run directories."""

    judge_again: Callable[[Path], int]
    """Judge anew, write results and views; the exit code."""
    show_verdicts: Callable[[Path], None]
    """Print what was judged."""
    compare_runs: Callable[[Path, Path, bool, Wanted], int]
    """Show what became different between two; the exit code."""
    judged_run: Callable[[Path], "JudgedRun"]
    """The verdicts on requirements."""


SUITES = {
    name: Suite(each.judge_again, each.show_verdicts, each.compare_runs, each.judged_run)
    for name, each in (("conformance", conformance), ("stress", stress))
}
"""By the `suite` of run.json."""


def suite_name(run_dir: Path) -> str:
    """The suite of a run. Raises UsageError if there is no run, or one of a suite that this version does not have."""
    from crashloop.rundir import RunDir

    name = RunDir.open(run_dir).info().suite
    if name not in SUITES:
        raise UsageError(f"run directory {run_dir}: suite {name!r} is not known; expected one of {', '.join(SUITES)}.")
    return name


def suite_of(run_dir: Path) -> Suite:
    """The functions for a run. Raises UsageError as `suite_name` does."""
    return SUITES[suite_name(run_dir)]
