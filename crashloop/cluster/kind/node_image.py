"""Our own node image, for hosts that cannot pull an official one and for the user's own binaries."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from crashloop.cluster.binaries.binary_set import BinarySet
from crashloop.cluster.binaries.cache import Cache
from crashloop.cluster.binaries.components import architecture
from crashloop.cluster.binaries.version_query import is_static
from crashloop.cluster.images import ImageArchive, docker_archive, ensure_image_archive
from crashloop.cluster.kind.docker import Docker
from crashloop.cluster.kind.recipe import (
    CONTROL_PLANE,
    NODE_FILES,
    RUNTIME,
    TOOLS,
    Parts,
    control_plane_members,
    image_names,
    needed_libraries,
    node_members,
    programs_of,
)
from crashloop.cluster.provider import Progress
from crashloop.cluster.runner import run
from crashloop.cluster.tars import write_tar
from crashloop.settings import Settings

REPOSITORY = "localhost/crashloop/node"
LABEL = "dev.crashloop.node-image"
"""Label of every image that crashloop builds: its version of Kubernetes."""
_ASK_S = 60.0
_IMPORT_S = 300.0


def own_image_name(binaries: BinarySet, archive: ImageArchive) -> str:
    """Name of the image of these binaries; other binaries or another recipe give another name."""
    digest = hashlib.sha256()
    for name, path in sorted(programs_of(binaries).items()):
        facts = path.stat()
        digest.update(f"{name} {path.resolve()} {facts.st_size} {facts.st_mtime_ns}\n".encode())
    for file in (*sorted(NODE_FILES.iterdir()), Path(__file__).parent / "recipe.py"):
        digest.update(file.read_bytes())
    digest.update(archive.path.name.encode())
    return f"{REPOSITORY}:v{binaries.kubernetes_version}-{digest.hexdigest()[:12]}"


def ensure_own_image(docker: Docker, binaries: BinarySet, settings: Settings, progress: Progress) -> str:
    """The name of crashloop's node image, built if Docker does not have it. Raises PrerequisiteError, CommandFailed."""
    archive = ensure_image_archive(binaries, settings)
    name = own_image_name(binaries, archive)
    if docker.image(name) is None:
        place = f"node-image-{name.rpartition('-')[2]}"
        with Cache(settings.paths.cache_dir).workplace(place, progress) as work:
            if docker.image(name) is None:  # no other process has made it in the meantime
                with progress.step(f"node image {name}"):
                    _build(docker, binaries, archive, name, work)
    return name


def _build(docker: Docker, binaries: BinarySet, archive: ImageArchive, name: str, work: Path) -> None:
    files = programs_of(binaries)
    parts = Parts(
        kubernetes_version=binaries.kubernetes_version,
        programs=files,
        libraries=libraries_of(files[program] for program in (*TOOLS, *RUNTIME)),
        applets=tuple(run([binaries.busybox, "--list"], describe="busybox --list", timeout_s=_ASK_S).split()),
        control_plane_images=control_plane_images(binaries, files, work),
        program_images=archive.path,
    )
    root = work / "root.tar"
    with root.open("wb") as file:
        write_tar(file, node_members(parts))
    docker.import_image(
        root,
        name,
        changes=(
            'ENTRYPOINT ["/sbin/init"]',
            "ENV PATH=/usr/bin",
            f"LABEL {LABEL}={binaries.kubernetes_version}",
        ),
        timeout_s=_IMPORT_S,
    )


def control_plane_images(binaries: BinarySet, files: dict[str, Path], work: Path) -> Path:
    """Archive of the images that kubeadm wants for the control plane, without the sandbox's; written into the folder `work`."""
    listing = [
        str(binaries.kubeadm),
        "config",
        "images",
        "list",
        f"--kubernetes-version=v{binaries.kubernetes_version}",
    ]
    names = image_names(run(listing, describe="kubeadm config images list", timeout_s=_ASK_S))
    layer = work / "control-plane-layer.tar"
    with layer.open("wb") as file:
        write_tar(file, control_plane_members(files, libraries_of(files[program] for program in CONTROL_PLANE)))
    with layer.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    process = {"Env": ["PATH=/usr/bin"]}
    images = work / "control-plane.tar"
    with images.open("wb") as file:
        write_tar(file, docker_archive(layer, digest, dict.fromkeys(names, process), arch=architecture()))
    layer.unlink()
    return images


def libraries_of(programs: Iterable[Path]) -> tuple[Path, ...]:
    """Shared libraries that programs need, without repetition; none for statically linked ones."""
    found: dict[Path, None] = {}
    for program in programs:
        if not is_static(program):
            printed = run(["ldd", program], describe=f"libraries of {program.name}", timeout_s=_ASK_S)
            found.update(dict.fromkeys(needed_libraries(printed)))
    return tuple(found)
