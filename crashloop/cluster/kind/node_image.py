"""Node images: the named one, the official one, or our own, for hosts that cannot pull and for the user's own binaries.

Our own holds the binaries that nodes of the provider `local` run, and busybox as init and shell. `kind` requires of an image: a
version in /kind/version, a line on its console after booting, and cat, mkdir, cp, kubeadm, kubectl, ctr and containerd on PATH
(sigs.k8s.io/kind pkg/cluster/internal@v0.33.0). The image has no systemd, CNI daemon, kube-proxy or CoreDNS: crashing containers
need none of them.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from crashloop.cluster.binaries.components import CNI_PLUGINS, BinarySet, architecture
from crashloop.cluster.binaries.ensure import ensure_binaries
from crashloop.cluster.binaries.provision import Cache
from crashloop.cluster.binaries.versions import is_static
from crashloop.cluster.files import File, Folder, HardLink, Member, SymbolicLink, write_tar
from crashloop.cluster.images import GROUP, PASSWD, ImageArchive, docker_archive, ensure_image_archive
from crashloop.cluster.kind.docker import Docker
from crashloop.cluster.kind.plan import Init, NodeImage
from crashloop.cluster.processes import CommandFailed, run
from crashloop.cluster.provider import ClusterRequest, Progress
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.settings import Settings
from crashloop.spec.version import KubernetesVersion

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


OFFICIAL = "kindest/node"
OWN = "own"
"""The value of --node-image for an image that crashloop builds from its binaries."""
_VERSION_IN_TAG = re.compile(r":v?(\d+\.\d+\.\d+)[^/@]*(?:@.*)?$")


def official_image(version: str) -> str:
    """kind's own image of a version; not every version has one."""
    return f"{OFFICIAL}:v{KubernetesVersion.parse(version)}"


def version_in_tag(image: str | None) -> str | None:
    """The Kubernetes version at the start of an image's tag, as in kind's own images; None without one."""
    match = _VERSION_IN_TAG.search(image or "")
    return match[1] if match else None


PULL_S = 1800.0
"""Some 400 MB; the daemon itself gives up on a registry that does not answer after 15 s."""
NEEDS_CGROUP_V2 = 256
"""The first systemd that refuses to boot on cgroup v1 (NEWS of systemd 256); kind's images have 257 since kind v0.32."""


class Choice:
    """Chooses the node image of one request, and gets it."""

    def __init__(
        self, docker: Docker, settings: Settings, progress: Progress, environment: Mapping[str, str] = os.environ
    ) -> None:
        self._docker = docker
        self._settings = settings
        self._progress = progress
        self._in_ci = environment.get("CI", "").lower() not in ("", "0", "false")

    def image(self, request: ClusterRequest) -> NodeImage:
        """The image for a request.

        Raises UsageError if it holds another version of Kubernetes than requested, PrerequisiteError if there is none, if it
        cannot boot on this host, or if crashloop's own would replace kind's under CI without having been asked for.
        """
        if request.node_image == OWN or request.bin_dir is not None:
            name = self._own(request.kubernetes_version, request.bin_dir)
        elif request.node_image is not None:
            name = self._named(request.node_image)
        else:
            name = self._default(request.kubernetes_version, may_replace=request.any_node_image or not self._in_ci)
        image = self._described(name)
        asked = str(KubernetesVersion.parse(request.kubernetes_version))
        if image.kubernetes_version != asked:
            raise UsageError(
                f"node image {image.name}: holds Kubernetes {image.kubernetes_version}, {asked} was requested.\n"
                f"Add --kubernetes-version {image.kubernetes_version}, or choose another --node-image."
            )
        return image

    def _named(self, name: str) -> str:
        if self._docker.image(name) is None:
            try:
                self._pull(name)
            except CommandFailed as error:
                raise PrerequisiteError(
                    f"--node-image {name}: Docker does not have it and cannot pull it ({_last_line_printed(error)}).\n"
                    f"Pull or load it yourself, or give --node-image {OWN} for one that crashloop builds."
                ) from error
        reason = self._cannot_boot(name)
        if reason is not None:
            raise PrerequisiteError(
                f"--node-image {name}: {reason}.\n"
                "Boot the host with cgroup v2 (kernel argument systemd.unified_cgroup_hierarchy=1), "
                f"or give --node-image {OWN} for one that crashloop builds."
            )
        return name

    def _default(self, version: str, *, may_replace: bool) -> str:
        official = official_image(version)
        reason = self._unusable(official)
        if reason is None:
            return official
        if not may_replace:
            raise PrerequisiteError(
                f"node image {official}: {reason}; under CI no other image replaces it unasked.\n"
                f"Give --node-image {OWN} for one that crashloop builds, or name one that kind has published."
            )
        with self._progress.step(f"WARNING: {official}: {reason}; --node-image {OWN} takes its place"):
            return self._own(version, None)

    def _unusable(self, official: str) -> str | None:
        """Why the official image cannot be used, after an attempt to pull it."""
        if self._docker.image(official) is None:
            try:
                self._pull(official)
            except CommandFailed as error:
                return f"it cannot be pulled ({_last_line_printed(error).rpartition(': ')[2]})"
        return self._cannot_boot(official)

    def _cannot_boot(self, name: str) -> str | None:
        """Why an image cannot boot on Docker's host, if it cannot."""
        if self._own_version(name) is not None or self._docker.cgroup_version() != 1:
            return None
        match = re.match(r"systemd (\d+)", self._look(name, "systemctl", "--version"))
        if match is None or int(match[1]) < NEEDS_CGROUP_V2:
            return None
        return f"its systemd {match[1]} boots on cgroup v2 only, and the host of this Docker has v1"

    def _own(self, version: str, bin_dir: str | None) -> str:
        binaries = ensure_binaries(
            self._settings,
            kubernetes_version=version,
            bin_dir=None if bin_dir is None else Path(bin_dir),
            progress=self._progress,
        )
        return ensure_own_image(self._docker, binaries, self._settings, self._progress)

    def _pull(self, name: str) -> None:
        with self._progress.step(f"pulling {name}"):
            self._docker.run("pull", "--quiet", name, describe=f"image {name}", timeout_s=PULL_S)

    def _described(self, name: str) -> NodeImage:
        own = self._own_version(name)
        return NodeImage(
            name=name,
            kubernetes_version=str(KubernetesVersion.parse(own or self._version_in(name))),
            init=Init.SYSTEMD if own is None else Init.SERVICE,
            has_program_image=own is not None,
        )

    def _own_version(self, name: str) -> str | None:
        """The Kubernetes version of an image that crashloop has built; None for any other."""
        image = self._docker.image(name)
        assert image is not None
        return (image["Config"].get("Labels") or {}).get(LABEL)

    def _version_in(self, name: str) -> str:
        version = version_in_tag(name)
        if version is not None and name.partition("@")[0] == official_image(version):
            return version
        return self._look(name, "cat", "/kind/version").strip()

    def _look(self, name: str, program: str, argument: str) -> str:
        """What a program of an image prints. Raises UsageError if it does not work: every image for `kind` has these."""
        look = ("run", "--rm", "--network=none", f"--entrypoint={program}", name, argument)
        try:
            return self._docker.run(*look, describe=f"node image {name}")
        except CommandFailed as error:
            raise UsageError(
                f"node image {name}: `{program} {argument}` does not work in it ({_last_line_printed(error)}).\n"
                "Expected an image made for `kind`."
            ) from error


def _last_line_printed(error: CommandFailed) -> str:
    return (error.output.strip().splitlines() or ["it printed nothing"])[-1].rstrip(".")
