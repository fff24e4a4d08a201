"""The command line: clusters, runs, judging again, and what the host can do."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from crashloop.errors import CrashloopError, UsageError
from crashloop.verdict import ExitCode

app = typer.Typer(
    help="Conformance and stress suite for how Kubernetes restarts crashing containers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console(highlight=False)

ProviderOption = Annotated[str, typer.Option("--provider", help="What makes the cluster.")]
VersionOption = Annotated[str | None, typer.Option("--kubernetes-version", help="Default: the pinned one.")]
RunArgument = Annotated[Path, typer.Argument(help="A run directory, such as runs/latest.")]


def main() -> None:
    """Entry point: errors that a person can act on end in one message and their exit code."""
    try:
        app()
    except UsageError as error:
        _say(error)
        sys.exit(ExitCode.USAGE)
    except CrashloopError as error:
        _say(error)
        sys.exit(ExitCode.ERROR)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)


def _say(error: CrashloopError) -> None:
    Console(stderr=True, highlight=False).print(f"crashloop: {error}", markup=False, soft_wrap=True)


@app.command()
def setup(kubernetes_version: VersionOption = None) -> None:
    """Fetch or build every binary and make the images, so that later commands start at once."""
    from crashloop.cluster.binaries import ensure_binaries
    from crashloop.cluster.images import ensure_image_archive
    from crashloop.progress import default_progress
    from crashloop.settings import resolve_settings

    settings = resolve_settings()
    binaries = ensure_binaries(
        settings,
        kubernetes_version=kubernetes_version or settings.versions.kubernetes,
        bin_dir=None,
        kubelet_binary=None,
        progress=default_progress(),
    )
    ensure_image_archive(binaries, settings)
    for name, version in sorted(binaries.versions.items()):
        out.print(f"{name} {version} ({binaries.source.get(name, 'host')})")


@app.command()
def run(
    context: typer.Context,
    arguments: Annotated[list[str] | None, typer.Argument(help="Options and arguments of pytest.")] = None,
) -> None:
    """Run the conformance suite: pytest on suites/conformance with the same options."""
    import pytest

    suite = Path(__file__).resolve().parent.parent / "suites" / "conformance"
    if not suite.is_dir():
        raise UsageError(f"crashloop run: no suite at {suite}.\nRun it from a checkout of the project.")
    raise typer.Exit(pytest.main([f"--rootdir={suite.parent.parent}", *(arguments or []), *context.args, str(suite)]))


@app.command()
def analyze(run_dir: RunArgument) -> None:
    """Judge an earlier run again, with no cluster, and write its results anew."""
    from crashloop.analysis import analyze as judge_run
    from crashloop.publish import publish
    from crashloop.report.terminal import render
    from crashloop.rundir import RunDir

    run = RunDir.open(run_dir)
    results = judge_run(run)
    publish(run, results)
    render(results, out)
    raise typer.Exit(results.exit_code)


@app.command()
def doctor() -> None:
    """Say what this host can do, and what it lacks."""
    from crashloop.doctor import examine

    report = examine()
    table = Table("check", "value", "state", "advice", box=None)
    for row in report.rows:
        table.add_row(row.name, row.value, row.state, row.advice)
    out.print(table)
    raise typer.Exit(ExitCode.OK if report.ok else ExitCode.ERROR)
