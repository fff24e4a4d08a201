"""Commands about runs: run the suite, judge a run again."""

from pathlib import Path

import typer

from crashloop.cli import stress
from crashloop.cli.command import Command, RunArgument, out
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
    from crashloop.report.terminal import render
    from crashloop.run.analysis import analyze as judge_run
    from crashloop.run.publish import publish
    from crashloop.rundir import RunDir

    run_ = RunDir.open(run_dir)
    if run_.info().suite == stress.SUITE:
        raise typer.Exit(stress.judge_again(run_dir))
    results = judge_run(run_)
    publish(run_, results)
    render(results, out, report=str(run_.report_html))
    raise typer.Exit(results.exit_code)


def report(run_dir: RunArgument) -> None:
    """Show the verdicts of a run, without judging it again."""
    from crashloop.report.terminal import render
    from crashloop.run.publish import published
    from crashloop.rundir import RunDir

    run_ = RunDir.open(run_dir)
    if run_.info().suite == stress.SUITE:
        stress.show(run_dir)
        return
    render(published(run_), out, report=str(run_.report_html))


COMMANDS = (
    Command(run, {"context_settings": {"allow_extra_args": True, "ignore_unknown_options": True}}),
    Command(analyze),
    Command(report),
)
