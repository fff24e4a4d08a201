"""The command line: clusters, runs, analysis, comparison, and the host."""

import errno
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from crashloop import __version__
from crashloop.cli import alerts, catalogue, clusters, compare, observe, predict, runs, stress, why
from crashloop.errors import CrashloopError, UsageError, missing
from crashloop.verdict import ExitCode


class _Commands(TyperGroup):
    """The list of commands is plain text, so that it comes at once; rich shows the help of one command."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.rich_markup_mode = None
        super().format_help(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # the signature is that of click
        """By what a command needs."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            if not command.hidden:
                panel = getattr(command, "rich_help_panel", None)
                panels.setdefault(panel if isinstance(panel, str) else "Commands", []).append(
                    (name, command.get_short_help_str(200))
                )
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


app = typer.Typer(
    cls=_Commands,
    help="Conformance and stress suite for how Kubernetes restarts crashing containers.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 130},
)
NEEDS_NOTHING, READS_A_CLUSTER, MAKES_A_CLUSTER, READS_RUNS = (
    "Needs nothing",
    "Reads a cluster or files, and changes nothing",
    "Makes or uses a cluster",
    "Reads runs",
)
_run, *_of_runs = runs.COMMANDS
for panel, commands in (
    (NEEDS_NOTHING, (*predict.COMMANDS, *alerts.COMMANDS, *catalogue.COMMANDS)),
    (READS_A_CLUSTER, (*why.COMMANDS, *observe.COMMANDS)),
    (MAKES_A_CLUSTER, (_run, *stress.COMMANDS, *clusters.COMMANDS, *clusters.HOST_COMMANDS)),
    (READS_RUNS, (*_of_runs, *compare.COMMANDS, *compare.EXPORT_COMMANDS)),
):
    for command in commands:
        command.add_to(app, panel)
app.add_typer(catalogue.profile_group, name="profile", rich_help_panel=NEEDS_NOTHING)
app.add_typer(clusters.kind_group, name="kind", rich_help_panel=MAKES_A_CLUSTER)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"crashloop {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Conformance and stress suite for how Kubernetes restarts crashing containers."""


def main() -> None:
    """Entry point: an error that a person can act on is one message and its exit code; any crash is 70, never a verdict."""
    sys.exit(_exit_code())


_PIPE_CLOSED = 128 + signal.SIGPIPE
"""What a shell shows for any program whose reader has ended, such as `head`: no fault of this suite."""


def _exit_code() -> int:
    _open_streams()
    try:
        try:
            ended_with = app(standalone_mode=False)
            sys.stdout.flush()
            return ended_with if isinstance(ended_with, int) else ExitCode.OK
        except _WrongUsage as wrong:
            command = wrong.ctx.command_path if wrong.ctx is not None else "crashloop"
            told = wrong.format_message().strip().replace(": Value error, ", ": ")  # pydantic's word
            told = told or "Missing command."  # of a group, whose help has been printed
            if told.startswith("Usage: "):  # the help, where no command is given
                typer.echo(told, err=True)
            else:
                _say(f"{told}\n`{command} -h` has its options.")
            return ExitCode.USAGE
        except SystemExit as ended:
            if isinstance(ended.__context__, BrokenPipeError):  # typer ends with 1, which would accuse Kubernetes
                return _PIPE_CLOSED
            sys.stdout.flush()
            return _code_of(ended)
    except UsageError as error:
        _say(str(error))
        return ExitCode.USAGE
    except CrashloopError as error:
        _say(str(error))
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except ModuleNotFoundError as error:
        _say(missing(error, needed_by="this command"))
    except BrokenPipeError:
        _drop_output()
        return _PIPE_CLOSED
    except OSError as error:
        where = error.filename or ("the current folder, which was removed" if _is_folder_gone() else "")
        _say(f"{error.strerror or error}{f': {where}' if where else ''}.")
        _drop_output()
        if error.errno == errno.ENAMETOOLONG:
            return ExitCode.USAGE
    except Exception as error:  # noqa: BLE001  # whatever it is, it is no verdict
        if isinstance(error.__cause__, KeyboardInterrupt):  # in a class that a module was making
            return ExitCode.INTERRUPTED
        import traceback

        traceback.print_exc()
        _say("the traceback above shows a fault of crashloop itself, and no verdict.")
    return ExitCode.ERROR


_WrongUsage: type[typer.BadParameter] = typer.BadParameter.__base__  # type: ignore[assignment]  # typer exports no UsageError


def _open_streams() -> None:
    """Streams for a caller that closed them, and for a terminal of another encoding."""
    sys.stdin = sys.stdin or Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]


def _code_of(ended: SystemExit) -> int:
    return ended.code if isinstance(ended.code, int) else ExitCode.OK if ended.code is None else ExitCode.ERROR


def _is_folder_gone() -> bool:
    try:
        return not Path.cwd()
    except FileNotFoundError:
        return True


def _drop_output() -> None:
    """Let the interpreter end without a second error, where standard output is what cannot be written."""
    with suppress(OSError):  # a host without /dev/null
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str) -> None:
    from rich.console import Console

    from crashloop.report.text import printable

    with suppress(OSError):  # the exit code counts where nobody can be told
        Console(stderr=True, highlight=False).print(f"crashloop: {printable(message)}", markup=False, soft_wrap=True)
