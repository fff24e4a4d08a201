"""Commands about this host: prepare it, examine it."""

from typing import Annotated

import typer
from rich.table import Table

from crashloop.cli.command import Command, JsonOption, KubernetesVersionOption, out, print_json
from crashloop.errors import UsageError
from crashloop.verdict import ExitCode


def setup(
    kubernetes_version: KubernetesVersionOption = None,
    every_release: Annotated[
        bool,
        typer.Option("--every-release", help="The versions of `crashloop run --scope versions`, one after the other."),
    ] = False,
) -> None:
    """Fetch or build every binary and make the images, so that later commands start at once."""
    from crashloop.cluster.binaries.ensure import ensure_binaries
    from crashloop.cluster.images import ensure_image_archive
    from crashloop.progress import default_progress
    from crashloop.run.releases import PINNED
    from crashloop.settings import resolve_settings

    settings, progress = resolve_settings(), default_progress()
    if every_release and kubernetes_version is not None:
        raise UsageError("--every-release: has versions of its own.\nLeave --kubernetes-version out.")
    versions = PINNED if every_release else (kubernetes_version or settings.versions.kubernetes,)
    for version in versions:  # one after the other, each kept: what was interrupted goes on with the next one
        binaries = ensure_binaries(settings, kubernetes_version=version, progress=progress)
        ensure_image_archive(binaries, settings)
        table = Table("program", "version", "from", box=None)
        for name, found in sorted(binaries.versions.items()):
            table.add_row(name, found, binaries.source.get(name, ""))
        out.print(table)


def doctor(as_json: JsonOption = False) -> None:
    """Report what this host can run, and what it lacks."""
    from crashloop.doctor import examine

    report = examine()
    if as_json:
        print_json(report)
    else:
        table = Table("check", "value", "state", "advice", box=None)
        for row in report.rows:
            table.add_row(row.name, row.value, row.state, row.advice)
        out.print(table)
    raise typer.Exit(ExitCode.OK if report.ok else ExitCode.ERROR)


COMMANDS = (Command(setup), Command(doctor))
