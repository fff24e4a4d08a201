"""Commands of the provider `kind`: build a node image."""

from pathlib import Path
from typing import Annotated

import typer

from crashloop.cli.command import Command, KubernetesVersionOption, out


def build_node_image(
    kubernetes_version: KubernetesVersionOption = None,
    bin_dir: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder with your own binaries.")] = None,
    tag: Annotated[str | None, typer.Option(metavar="NAME:TAG", help="A further name of the image.")] = None,
) -> None:
    """Build a node image of the binaries that the provider `local` runs, and print its name (for --node-image)."""
    from crashloop.cluster.binaries.ensure import ensure_binaries
    from crashloop.cluster.kind.docker import Docker
    from crashloop.cluster.kind.node_image import ensure_own_image
    from crashloop.cluster.kind.prerequisites import check_docker, docker_facts
    from crashloop.progress import default_progress
    from crashloop.settings import resolve_settings

    settings, progress, docker = resolve_settings(), default_progress(), Docker()
    check_docker(docker_facts(), nodes=0, systemd=False)
    binaries = ensure_binaries(
        settings,
        kubernetes_version=kubernetes_version or settings.versions.kubernetes,
        bin_dir=bin_dir,
        progress=progress,
    )
    name = ensure_own_image(docker, binaries, settings, progress)
    if tag is not None:
        docker.run("tag", name, tag, describe=f"image {tag}")
    out.print(tag or name, soft_wrap=True)


group = typer.Typer(help="Commands for the provider kind.", no_args_is_help=True)
Command(build_node_image).add_to(group)
