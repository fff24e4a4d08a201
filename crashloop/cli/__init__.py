"""The command line: clusters, runs, analysis, comparison, and the host."""

import sys

import typer
from rich.console import Console

from crashloop.cli import clusters, compare, host, kind, observe, predict, runs, stress
from crashloop.errors import CrashloopError, UsageError
from crashloop.verdict import ExitCode

app = typer.Typer(
    help="Conformance and stress suite for how Kubernetes restarts crashing containers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (
    *runs.COMMANDS,
    *stress.COMMANDS,
    *compare.COMMANDS,
    *predict.COMMANDS,
    *observe.COMMANDS,
    *clusters.COMMANDS,
    *host.COMMANDS,
):
    command.add_to(app)
app.add_typer(kind.group, name="kind")


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
