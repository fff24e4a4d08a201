"""Builds the node image of contrib/kindlike, unless Docker has it, and prints its name.

python -m contrib.kindlike [--kubernetes-version VERSION]
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from contrib.kindlike.recipe import (
    CRICTL,
    IMAGE,
    INSTALL,
    PACKAGES,
    PAUSE,
    base_name,
    image_name,
    node_members,
)
from crashloop.cluster.binaries.components import architecture
from crashloop.cluster.binaries.ensure import ensure_binaries
from crashloop.cluster.binaries.provision import Cache
from crashloop.cluster.files import write_tar
from crashloop.cluster.images import LONGEST_SLEEP_S, docker_archive, ensure_image_archive, layer_of
from crashloop.cluster.kind.docker import Docker, chosen_docker
from crashloop.cluster.kind.node_image import control_plane_images, programs_of
from crashloop.cluster.processes import run
from crashloop.progress import default_progress
from crashloop.settings import resolve_settings

BASE = Path(__file__).parents[2] / ".ci" / "base-image"
BUILD_S = 1800.0
"""Some 140 packages from a distant archive."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="contrib.kindlike", description="Build a node image with systemd.")
    parser.add_argument("--kubernetes-version", default=resolve_settings().versions.kubernetes)
    version = parser.parse_args().kubernetes_version
    settings, progress, docker = resolve_settings(), default_progress(), chosen_docker()
    binaries = ensure_binaries(settings, kubernetes_version=version, progress=progress)
    files = programs_of(binaries)
    name = image_name(binaries.kubernetes_version, files)
    if docker.image(base_name()) is None:
        with progress.step(f"packages of {base_name()}"):
            words = [str(BASE), base_name(), *PACKAGES]
            run(words, describe=f"image {base_name()}", timeout_s=BUILD_S, env=docker.environment)
    if docker.image(name) is None:
        archive = ensure_image_archive(binaries, settings).path
        with Cache(settings.paths.cache_dir).workplace("kindlike", progress) as work, progress.step(f"image {name}"):
            (work / "images").mkdir()
            control_plane_images(binaries, files, work).rename(work / "images" / "control-plane.tar")
            _write_pause_image(archive, work / "images" / "pause.tar")
            files["crictl"] = _crictl(work / "crictl")
            _build(docker, work, name, binaries.kubernetes_version, files)
    sys.stdout.write(f"{name}\n")


def _crictl(program: Path) -> Path:
    """Built in its own module, so that Go asks the module proxy for that one version only."""
    described = f"build of {CRICTL}"
    module = json.loads(run(["go", "mod", "download", "-json", CRICTL], describe=described, timeout_s=BUILD_S))["Dir"]
    build = ["go", "build", "-C", module, "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/crictl"]
    run(build, describe=described, timeout_s=BUILD_S, env={"CGO_ENABLED": "0"})
    return program


def _write_pause_image(programs: Path, to: Path) -> None:
    """The layer of the container programs' image, which sleeps."""
    layer = layer_of(programs)
    process = {"Env": ["PATH=/bin"], "Entrypoint": ["/bin/busybox", "sleep", str(LONGEST_SLEEP_S)]}
    digest = hashlib.sha256(layer).hexdigest()
    with to.open("wb") as file:
        write_tar(file, docker_archive(layer, digest, {PAUSE: process}, arch=architecture()))


def _build(docker: Docker, work: Path, name: str, version: str, files: Mapping[str, Path]) -> None:
    """Install everything in a container of the base, and keep that as the image."""
    with (work / "node.tar").open("wb") as file:
        write_tar(file, node_members(version, files))
    container = f"kindlike-{work.name}"
    mounts = (f"--volume={work}:/from:ro", f"--volume={INSTALL}:/install:ro")
    run_it = ("run", f"--name={container}", "--privileged", "--network=none", *mounts, "--entrypoint=/install")
    changes = [f"--change={change}" for change in IMAGE]
    try:
        docker.run(*run_it, base_name(), "/from", describe=f"installation of {name}", timeout_s=BUILD_S)
        docker.run("commit", *changes, container, name, describe=f"image {name}", timeout_s=BUILD_S)
    finally:
        docker.run("rm", "--force", "--volumes", container, describe=f"container {container}")


if __name__ == "__main__":
    main()
