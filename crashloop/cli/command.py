"""A command of the command line: declared beside its function, registered in crashloop.cli."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from crashloop.columns import aligned
from crashloop.run.options import KUBERNETES_HELP, MAKERS

out = Console(highlight=False)
"""Standard output: results only. Progress goes to standard error."""

KubernetesVersionOption = Annotated[
    str | None, typer.Option("--kubernetes-version", metavar="V", help=f"{KUBERNETES_HELP}.")
]
ProviderOption = Annotated[
    str, typer.Option("--provider", metavar=f"<{'|'.join(MAKERS)}>", help="What makes the cluster.")
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, such as runs/latest.")]


JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]


def print_json(value: Any) -> None:
    """Print a struct, or plain data, independent of the terminal's width."""
    import msgspec

    out.file.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, console: Console = out) -> None:
    """Print columns: a terminal folds long words at its width, and a file has one line per row. An empty header is left out."""
    lines = list(rows)
    if not console.is_terminal:
        for text in aligned([header, *lines] if any(header) else lines):
            console.print(text, markup=False, soft_wrap=True)
        return
    table = Table(box=None, show_header=any(header))
    for name in header:
        table.add_column(name, overflow="fold")
    for line in lines:
        table.add_row(*map(escape, line))
    console.print(table)


JUDGED = "0 nothing failed, 1 FAIL, 2 wrong usage or no tests, 3 INCONCLUSIVE, 70 ERROR, 130 interrupted"
"""Exit codes of every command that judges."""


class Example(NamedTuple):
    """A command as a person types it, and what it is for, in a few words."""

    command: str
    purpose: str


def epilog(*examples: Example, exit_codes: str = "") -> str:
    """What follows the options in the help of a command."""
    shown = [f"  {each.command}  # {each.purpose}" for each in examples]
    return "\n\n".join(
        [*(["Examples:", *shown] if shown else []), *([f"Exit codes: {exit_codes}."] if exit_codes else [])]
    )


class Command(NamedTuple):
    """A function and the settings typer registers it with."""

    function: Callable[..., Any]
    settings: dict[str, Any] = {}

    def add_to(self, app: typer.Typer) -> None:
        app.command(**self.settings)(self.function)
