"""Our own node image, for hosts that cannot pull an official one and for the user's own binaries.

It holds the binaries that nodes of the provider `local` run, and busybox as init and shell. `kind` requires of an image: a
version in /kind/version, a line on its console after booting, and cat, mkdir, cp, kubeadm, kubectl, ctr and containerd on PATH
(sigs.k8s.io/kind pkg/cluster/internal@v0.33.0). The image has no systemd, CNI daemon, kube-proxy or CoreDNS: crashing containers
need none of them.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from crashloop.cluster.binaries.components import CNI_PLUGINS, BinarySet, architecture
from crashloop.cluster.binaries.provision import Cache
from crashloop.cluster.binaries.versions import is_static
from crashloop.cluster.files import File, Folder, HardLink, Member, SymbolicLink, write_tar
from crashloop.cluster.images import GROUP, PASSWD, ImageArchive, docker_archive, ensure_image_archive
from crashloop.cluster.kind.docker import Docker
from crashloop.cluster.processes import run
from crashloop.cluster.provider import Progress
from crashloop.settings import Settings

NODE_FILES = Path(__file__).parent / "node"
SCRIPTS = ("boot", "load-images", "service")
CONTROL_PLANE = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")
RUNTIME = ("containerd", "ctr", "containerd-shim-runc-v2", "runc")
TOOLS = ("kubelet", "kubeadm", "kubectl")

_FOLDERS = (
    "dev",
    "etc/containerd",
    "kind/images",
    "opt/cni/bin",
    "proc",
    "root",
    "run",
    "sys",
    "usr/bin",
    "usr/lib",
    "usr/lib64",
)
_MERGED = {"bin": "usr/bin", "sbin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "usr/sbin": "bin"}
"""Symbolic links, as distributions have them."""


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """Files of this host that go into an image."""

    kubernetes_version: str
    programs: dict[str, Path]
    """Program -> file with its content."""
    libraries: tuple[Path, ...]
    """Shared libraries that the programs need."""
    applets: tuple[str, ...]
    """Names under which busybox acts."""
    control_plane_images: Path
    """Archive of the control plane's images."""
    program_images: Path
    """Archive of the container programs' image and of the sandbox's."""


def programs_of(binaries: BinarySet) -> dict[str, Path]:
    """Files of the programs in an image."""
    return {
        "kubelet": binaries.kubelet,
        "kubeadm": binaries.kubeadm,
        "kubectl": binaries.kubectl,
        "kube-apiserver": binaries.kube_apiserver,
        "kube-controller-manager": binaries.kube_controller_manager,
        "kube-scheduler": binaries.kube_scheduler,
        "etcd": binaries.etcd,
        "containerd": binaries.containerd,
        "ctr": binaries.ctr,
        "containerd-shim-runc-v2": binaries.shim_dir / "containerd-shim-runc-v2",
        "runc": binaries.runc,
        "busybox": binaries.busybox,
        **{plugin: binaries.cni_dir / plugin for plugin in CNI_PLUGINS},
    }


def node_members(parts: Parts) -> Iterator[Member]:
    """The root file system of a node."""
    for folder in _FOLDERS:
        yield Folder(name=folder)
    yield Folder(name="tmp", mode=0o1777)
    yield Folder(name="var/log")
    for link, target in _MERGED.items():
        yield SymbolicLink(name=link, target=target)
    yield from programs((*TOOLS, *RUNTIME, "busybox"), parts.programs, folder="usr/bin")
    taken = {*TOOLS, *RUNTIME, "busybox"}
    for applet in sorted(set(parts.applets) - taken):
        yield SymbolicLink(name=f"usr/bin/{applet}", target="busybox")
    yield from programs(CNI_PLUGINS, parts.programs, folder="opt/cni/bin")
    yield from library_members(parts.libraries)
    yield File(name="etc/passwd", content=PASSWD.encode())
    yield File(name="etc/group", content=GROUP.encode())
    yield File(
        name="etc/os-release", content=f'ID=crashloop\nPRETTY_NAME="crashloop {parts.kubernetes_version}"\n'.encode()
    )
    yield File(name="etc/inittab", content=NODE_FILES / "inittab")
    yield File(name="etc/containerd/config.toml", content=NODE_FILES / "containerd.toml")
    for script in SCRIPTS:
        yield File(name=f"kind/{script}", content=NODE_FILES / script, mode=0o755)
    yield File(name="kind/version", content=f"v{parts.kubernetes_version}\n".encode())
    yield File(name="kind/images/control-plane.tar", content=parts.control_plane_images)
    yield File(name="kind/images/node.tar", content=parts.program_images)


def control_plane_members(files: dict[str, Path], libraries: Sequence[Path]) -> Iterator[Member]:
    """The layer that the images of all control plane components share."""
    yield Folder(name="tmp", mode=0o1777)
    for folder in ("usr/bin", "usr/lib", "usr/lib64"):
        yield Folder(name=folder)
    for link in ("lib", "lib64"):
        yield SymbolicLink(name=link, target=_MERGED[link])
    yield from programs(CONTROL_PLANE, files, folder="usr/bin")
    yield from library_members(libraries)


def programs(names: Sequence[str], files: dict[str, Path], *, folder: str) -> Iterator[Member]:
    """Programs in a folder; one binary under several names as hard links, so that every name can be mounted over separately."""
    first: dict[Path, str] = {}
    for name in names:
        path, content = f"{folder}/{name}", files[name].resolve()
        if content in first:
            yield HardLink(name=path, target=first[content])
        else:
            first[content] = path
            yield File(name=path, content=content, mode=0o755)


def library_members(libraries: Sequence[Path]) -> Iterator[Member]:
    """Shared libraries at the paths where their programs look for them."""
    for library in libraries:
        merged = Path("usr", *library.parts[1:]) if library.parts[1] in ("lib", "lib64") else library.relative_to("/")
        yield File(name=str(merged), content=library.resolve(), mode=0o755)


def image_names(listed: str) -> tuple[str, ...]:
    """Names of the control plane's images, from what `kubeadm config images list` printed."""
    return tuple(name for name in listed.split() if name.rpartition("/")[2].partition(":")[0] in CONTROL_PLANE)


def needed_libraries(ldd: str) -> list[Path]:
    """Paths of shared libraries, the loader's included, from what ldd(1) printed."""
    words = (word for line in ldd.splitlines() for word in line.split())
    return [Path(word) for word in words if word.startswith("/") and not word.endswith(":")]


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
    for file in (*sorted(NODE_FILES.iterdir()), Path(__file__)):
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
                    _build_image(docker, binaries, archive, name, work)
    return name


def _build_image(docker: Docker, binaries: BinarySet, archive: ImageArchive, name: str, work: Path) -> None:
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
