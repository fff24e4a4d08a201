"""An image as large as those of applications: the suite's program beside many files that it never reads."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from random import Random

from crashloop.cluster.binaries.components import architecture
from crashloop.cluster.images import PROGRAM, applets_of, docker_archive, program_layer
from crashloop.cluster.tars import File, Folder, Member, write_tar

FILE_KIB = 64
"""Size of each file."""


def write_large_image(name: str, busybox: Path, *, mib: int, folder: Path) -> Path:
    """A docker-archive in a folder, with an image of that name whose layer has `mib` MiB of files beside the program.

    The same arguments give the same bytes. They do not compress, as those of most images do not. Raises OSError.
    """
    layer, archive = folder / "layer.tar", folder / "image.tar"
    with layer.open("w+b") as file:
        write_tar(file, _members(busybox, mib))
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with archive.open("wb") as file:
        write_tar(file, docker_archive(layer, digest, {name: PROGRAM}, arch=architecture()))
    layer.unlink()
    return archive


def _members(busybox: Path, mib: int) -> Iterator[Member]:
    yield from program_layer(busybox.read_bytes(), applets_of(busybox))
    yield Folder(name="data")
    content = Random(mib)
    for number in range(mib * 1024 // FILE_KIB):
        yield File(name=f"data/{number}", content=content.randbytes(FILE_KIB * 1024))
