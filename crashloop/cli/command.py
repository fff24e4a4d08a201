"""A command of the command line: declared beside its function, registered in crashloop.cli."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console

out = Console(highlight=False)
"""Standard output: results only. Progress goes to standard error."""

KubernetesVersionOption = Annotated[
    str | None, typer.Option("--kubernetes-version", metavar="V", help="Version of cluster and kubelets.")
]
ProviderOption = Annotated[str, typer.Option("--provider", help="What makes the cluster.")]
RunArgument = Annotated[Path, typer.Argument(help="A run directory, such as runs/latest.")]


JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]


def print_json(value: Any) -> None:
    """Print a struct, or plain data, independent of the terminal's width."""
    import msgspec

    out.file.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")


class Command(NamedTuple):
    """A function and the settings typer registers it with."""

    function: Callable[..., Any]
    settings: dict[str, Any] = {}

    def add_to(self, app: typer.Typer) -> None:
        app.command(**self.settings)(self.function)
