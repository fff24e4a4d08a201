"""Commands about this host: prepare it, examine it."""

from typing import Annotated

import typer

from crashloop.cli.command import Command, JsonOption, KubernetesVersionOption, print_json, print_table
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
        found = ((name, each, binaries.source.get(name, "")) for name, each in sorted(binaries.versions.items()))
        print_table(("program", "version", "from"), found)


def doctor(as_json: JsonOption = False) -> None:
    """Report what this host can run, and what it lacks."""
    from crashloop.doctor import examine

    report = examine()
    if as_json:
        print_json(report)
    else:
        rows = ((row.name, row.value, row.state, row.advice) for row in report.rows)
        print_table(("check", "value", "state", "advice"), rows)
    raise typer.Exit(ExitCode.OK if report.ok else ExitCode.ERROR)


COMMANDS = (Command(setup), Command(doctor))
