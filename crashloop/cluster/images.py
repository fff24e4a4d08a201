"""The images of container programs, made of busybox: no registry, no compiler, the same bytes every time.

One docker-archive (https://github.com/moby/docker-image-spec, "Combined Image JSON + Filesystem Changeset Format") holds the two
images that nodes need; containerd's `ctr image import`, `docker load` and `kind load image-archive` read it. Both are the same
layer: the program image starts a shell, the sandbox image sleeps. A sandbox is ended with SIGKILL, so its process needs no signal
handler (containerd internal/cri/server/podsandbox/sandbox_stop.go@v2.3.7).

A large image has the same program beside many files that it never reads. Images of a registry differ by a variable of their
environment; blobs and manifests as in https://github.com/opencontainers/image-spec (image manifest, v1.1).
"""

import hashlib
import os
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from crashloop.cluster.binaries.components import BinarySet, architecture
from crashloop.cluster.binaries.provision import storage_errors
from crashloop.cluster.files import File, Folder, Member, SymbolicLink, tar_bytes, write_tar
from crashloop.cluster.processes import run
from crashloop.cluster.registry_server import MANIFEST
from crashloop.settings import Settings
from crashloop.spec.dependency import VERSION_VARIABLE, VERSIONS

PROGRAM_IMAGE = "localhost/crashloop/program:1"
SANDBOX_IMAGE = "localhost/crashloop/pause:1"
LONGEST_SLEEP_S = 2**31 - 1

PASSWD = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
GROUP = "root:x:0:\nnogroup:x:65534:\n"
FOLDERS = {
    "bin": 0o755,
    "dev": 0o755,
    "etc": 0o755,
    "proc": 0o755,
    "root": 0o700,
    "sys": 0o755,
    "tmp": 0o1777,
    "var": 0o755,
}


Process = Mapping[str, Sequence[str]]
"""What an image starts, as in its config: Env, Entrypoint, Cmd."""
PROGRAM: Process = {"Env": ["PATH=/bin"], "Cmd": ["/bin/sh"]}
"""Of images for container programs."""


class ImageArchive(msgspec.Struct, frozen=True, kw_only=True):
    """Both images in one file."""

    path: Path
    program_image: str = PROGRAM_IMAGE
    """For container programs: a POSIX shell with busybox's applets on PATH."""
    sandbox_image: str = SANDBOX_IMAGE
    """For containerd's `sandbox` (pause) image setting."""


def ensure_image_archive(binaries: BinarySet, settings: Settings) -> ImageArchive:
    """The archive in the cache, written if it is not there; its name is its content's hash.

    Raises PrerequisiteError if the cache cannot be written.
    """
    return archive_of(binaries.busybox, settings)


def archive_of(busybox: Path, settings: Settings) -> ImageArchive:
    """The same from busybox alone."""
    content = image_archive(busybox.read_bytes(), applets_of(busybox), arch=architecture())
    folder = settings.paths.cache_dir / "images"
    path = folder / f"crashloop-{hashlib.sha256(content).hexdigest()[:16]}.tar"
    with storage_errors(folder):
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f".{path.name}.{os.getpid()}")
            partial.write_bytes(content)
            partial.replace(path)
    return ImageArchive(path=path)


def applets_of(busybox: Path) -> list[str]:
    """The names under which it acts."""
    return run([busybox, "--list"], describe="busybox --list", timeout_s=20).split()


def image_archive(busybox: bytes, applets: Sequence[str], *, arch: str) -> bytes:
    """A docker-archive with both images. Pure: the same arguments give the same bytes.

    `busybox` is the statically linked program, `applets` the names under which it acts, `arch` as in GOARCH.
    """
    layer = tar_bytes(program_layer(busybox, applets))
    sleep = ["/bin/busybox", "sleep", str(LONGEST_SLEEP_S)]
    images = {
        PROGRAM_IMAGE: PROGRAM,
        SANDBOX_IMAGE: {"Env": ["PATH=/bin"], "Entrypoint": sleep},
    }
    return tar_bytes(docker_archive(layer, hashlib.sha256(layer).hexdigest(), images, arch=arch))


def docker_archive(layer: bytes | Path, digest: str, images: Mapping[str, Process], *, arch: str) -> Iterator[Member]:
    """The members of a docker-archive with images of one and the same layer; `digest` is the layer's sha256."""
    yield File(name=f"{digest}/layer.tar", content=layer)
    manifest = []
    for name, process in images.items():
        config = image_config(process, digest, arch=arch)
        config_name = f"{hashlib.sha256(config).hexdigest()}.json"
        yield File(name=config_name, content=config)
        manifest.append({"Config": config_name, "RepoTags": [name], "Layers": [f"{digest}/layer.tar"]})
    yield File(name="manifest.json", content=_sorted_json(manifest))


def image_config(process: Process, digest: str, *, arch: str) -> bytes:
    """The config of an image of one layer; `digest` is the layer's sha256."""
    return _sorted_json(
        {
            "architecture": arch,
            "os": "linux",
            "created": "1970-01-01T00:00:00Z",
            "config": {"WorkingDir": "/", **process},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
            "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "crashloop"}],
        }
    )


def layer_of(archive: Path) -> bytes:
    """The layer of a docker-archive whose images all have the same one."""
    with tarfile.open(archive) as tar:
        name = next(each for each in tar.getnames() if each.endswith("/layer.tar"))
        content = tar.extractfile(name)
        assert content is not None
        return content.read()


def program_layer(busybox: bytes, applets: Sequence[str]) -> Iterator[Member]:
    """The files of both images."""
    for name, mode in FOLDERS.items():
        yield Folder(name=name, mode=mode)
    yield File(name="bin/busybox", content=busybox, mode=0o755)
    yield File(name="etc/passwd", content=PASSWD.encode())
    yield File(name="etc/group", content=GROUP.encode())
    for applet in sorted(set(applets) - {"busybox"}):
        yield SymbolicLink(name=f"bin/{applet}", target="busybox")


def _sorted_json(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")


FILE_KIB = 64
"""Size of each file."""


def write_large_image(name: str, busybox: Path, *, mib: int, folder: Path) -> Path:
    """A docker-archive in a folder, with an image of that name whose layer has `mib` MiB of files beside the program.

    The same arguments give the same bytes. They do not compress, as those of most images do not. Raises OSError.
    """
    layer, archive = folder / "layer.tar", folder / "image.tar"
    with layer.open("w+b") as file:
        write_tar(file, _large_layer(busybox, mib))
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with archive.open("wb") as file:
        write_tar(file, docker_archive(layer, digest, {name: PROGRAM}, arch=architecture()))
    layer.unlink()
    return archive


def _large_layer(busybox: Path, mib: int) -> Iterator[Member]:
    yield from program_layer(busybox.read_bytes(), applets_of(busybox))
    yield Folder(name="data")
    content = Random(mib)
    for number in range(mib * 1024 // FILE_KIB):
        yield File(name=f"data/{number}", content=content.randbytes(FILE_KIB * 1024))


class RegistryImages(msgspec.Struct, frozen=True, kw_only=True):
    """All content by its sha256 in hexadecimal, and which of it is the manifest of a version."""

    blobs: dict[str, bytes]
    manifests: dict[int, str]


def registry_images(layer: bytes, *, arch: str) -> RegistryImages:
    """An image for each version; `layer` is an uncompressed tar, `arch` as in GOARCH."""
    blobs: dict[str, bytes] = {}

    def stored(content: bytes, media: str) -> dict[str, str | int]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[digest] = content
        return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(content)}

    layers = [stored(layer, "application/vnd.oci.image.layer.v1.tar")]
    diff = str(layers[0]["digest"]).removeprefix("sha256:")
    manifests = {}
    for version in VERSIONS:
        process = {"Env": ["PATH=/bin", f"{VERSION_VARIABLE}={version}"], "Cmd": ["/bin/sh"]}
        config = stored(image_config(process, diff, arch=arch), "application/vnd.oci.image.config.v1+json")
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers}
        stated = stored(msgspec.json.encode(manifest, order="sorted"), MANIFEST)
        manifests[version] = str(stated["digest"]).removeprefix("sha256:")
    return RegistryImages(blobs=blobs, manifests=manifests)
