"""Commands about runs: run the suite, judge a run again."""

from pathlib import Path

import typer

from crashloop.cli.command import Command, RunArgument
from crashloop.cli.suites import suite_of
from crashloop.errors import UsageError
from crashloop.verdict import ExitCode


def run(context: typer.Context) -> None:
    """Run the conformance suite: pytest on suites/conformance, with the options of pytest and of the suite."""
    import pytest

    suite = Path(__file__).resolve().parents[2] / "suites" / "conformance"
    if not suite.is_dir():
        raise UsageError(f"crashloop run: no suite at {suite}.\nRun it from a checkout of the project.")
    selects = any(argument.startswith("suites/") for argument in context.args)
    arguments = [*context.args] if selects else [*context.args, str(suite)]
    status = pytest.main([f"--rootdir={suite.parents[1]}", *arguments])
    raise typer.Exit(ExitCode.USAGE if status == pytest.ExitCode.USAGE_ERROR else status)


def analyze(run_dir: RunArgument) -> None:
    """Judge an earlier run again, with no cluster, and write its results and views again."""
    raise typer.Exit(suite_of(run_dir).judge_again(run_dir))


def report(run_dir: RunArgument) -> None:
    """Show the verdicts of a run, without judging it again."""
    suite_of(run_dir).show_verdicts(run_dir)


COMMANDS = (
    Command(run, {"context_settings": {"allow_extra_args": True, "ignore_unknown_options": True}}),
    Command(analyze),
    Command(report),
)
