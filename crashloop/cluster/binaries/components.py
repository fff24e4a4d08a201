"""The programs that a cluster needs, and the sources of each program. Data only."""

import platform
import sys
from enum import StrEnum
from pathlib import Path

import msgspec

from crashloop.errors import PrerequisiteError
from crashloop.settings import Versions


class NotAvailable(Exception):
    """This source lacks the binary; the next one is tried. The message is shown if every source lacks it."""


KUBERNETES_PROGRAMS = (
    "kubelet",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
    "kubeadm",
    "kubectl",
)
CNI_PLUGINS = ("ptp", "loopback", "host-local")

_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


class BinarySource(StrEnum):
    """The source of a binary; shown in environment.json."""

    USER = "user"
    BIN_DIR = "bin-dir"
    HOST = "host"
    DOWNLOAD = "cache-download"
    BUILD = "cache-build"
    PACKAGE = "cache-package"


class ReleaseFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of an official release. `{version}` and `{arch}` are filled in."""

    site: str
    """Field of `settings.Downloads` with the site's base address."""
    path: str
    checksum: str
    """Path of the file with its published sha256: one digest, or lines of `<digest>  <file name>`."""
    members: dict[str, str]
    """Program -> member of the archive; for a file that is the program itself, the one program and an empty member."""


class GoInstall(msgspec.Struct, frozen=True, kw_only=True):
    """Packages that `go install` builds unchanged."""

    packages: dict[str, str]
    """Program -> package path."""
    tags: str = ""
    version_variable: str = ""
    """Go variable for the program's version (`-X`), and its value with `{version}`, if the source does not set it."""


class GoDependency(GoInstall, frozen=True, kw_only=True):
    """Packages that are built as another module's dependency.

    `go install` refuses a module whose go.mod has an `exclude`, or of which the proxy has no list of versions.
    """

    module: str


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """A package of Debian and Ubuntu, unpacked into the cache and never installed."""

    name: str
    paths: tuple[str, ...]
    """Possible paths of the program in it, over the distribution's releases."""


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """A unit of download, build and cache: one cache entry."""

    name: str
    version: str = ""
    """Empty where the distribution decides."""
    programs: tuple[str, ...]
    releases: tuple[ReleaseFile, ...] = ()
    go_install: GoInstall | None = None
    go_programs: tuple[str, ...] = ()
    """Programs that the Go module in kube_build holds; etcd comes with a build of Kubernetes."""
    package: Package | None = None

    @property
    def label(self) -> str:
        """For messages: `containerd 2.3.7`."""
        return f"{self.name} {self.version}".strip()

    @property
    def sources(self) -> tuple[BinarySource, ...]:
        """Its sources if it is not in the cache, in the order of trial."""
        known = {
            BinarySource.DOWNLOAD: self.releases,
            BinarySource.BUILD: self.go_install or self.go_programs,
            BinarySource.PACKAGE: self.package,
        }
        return tuple(source for source, how in known.items() if how)


def architecture() -> str:
    """This host's architecture as releases spell it. Raises PrerequisiteError on one that has no cluster binaries."""
    machine = platform.machine().lower()
    if sys.platform != "linux" or machine not in _ARCHITECTURES:
        raise PrerequisiteError(
            f"host: {sys.platform} on {machine}; nodes need Linux on amd64 or arm64.\n"
            "Use a Linux machine, or --provider existing with a kubeconfig."
        )
    return _ARCHITECTURES[machine]


def kubernetes(version: str, programs: tuple[str, ...] = KUBERNETES_PROGRAMS) -> Component:
    """The Kubernetes programs of one version; `("kubelet",)` alone for a node of another version."""
    whole = programs == KUBERNETES_PROGRAMS
    return Component(
        name="kubernetes" if whole else "-".join(programs),
        version=version,
        programs=programs,
        releases=tuple(
            ReleaseFile(
                site="release_url",
                path=f"release/v{{version}}/bin/linux/{{arch}}/{program}",
                checksum=f"release/v{{version}}/bin/linux/{{arch}}/{program}.sha256",
                members={program: ""},
            )
            for program in programs
        ),
        go_programs=(*programs, "etcd") if whole else programs,
    )


def _on_github(repository: str, file: str, checksum: str, members: dict[str, str]) -> tuple[ReleaseFile, ...]:
    """A file of the GitHub release of that version, and the file beside it with its checksum."""
    folder = f"{repository}/releases/download/v{{version}}"
    return (ReleaseFile(site="github_url", path=f"{folder}/{file}", checksum=f"{folder}/{checksum}", members=members),)


def etcd(versions: Versions) -> Component:
    folder = "etcd-v{version}-linux-{arch}"
    return Component(
        name="etcd",
        version=versions.etcd,
        programs=("etcd",),
        releases=_on_github("etcd-io/etcd", f"{folder}.tar.gz", "SHA256SUMS", {"etcd": f"{folder}/etcd"}),
        go_programs=("etcd",),
    )


def containerd(versions: Versions) -> Component:
    """containerd 2; the static build runs on every distribution, whatever its C library."""
    return _containerd(versions.containerd, "github.com/containerd/containerd/v2")


def containerd_1(versions: Versions) -> Component:
    """containerd 1, for nodes that show that a rule needs no newer one."""
    return _containerd(versions.containerd_1, "github.com/containerd/containerd", by_install=False)


def _containerd(version: str, module: str, *, by_install: bool = True) -> Component:
    programs = ("containerd", "containerd-shim-runc-v2", "ctr")
    archive = "containerd-static-{version}-linux-{arch}.tar.gz"
    members = {program: f"bin/{program}" for program in programs}
    recipe = GoInstall(
        packages={program: f"{module}/cmd/{program}" for program in programs},
        tags="no_btrfs no_devmapper no_zfs",
        version_variable=f"{module}/version.Version={{version}}",
    )
    return Component(
        name="containerd",
        version=version,
        programs=programs,
        releases=_on_github("containerd/containerd", archive, f"{archive}.sha256sum", members),
        go_install=recipe if by_install else GoDependency(module=module, **msgspec.structs.asdict(recipe)),
    )


def cni_plugins(versions: Versions) -> Component:
    archive = "cni-plugins-linux-{arch}-v{version}.tgz"
    members = {plugin: f"./{plugin}" for plugin in CNI_PLUGINS}
    module = "github.com/containernetworking/plugins"
    folders = {"ptp": "main", "loopback": "main", "host-local": "ipam"}
    return Component(
        name="cni-plugins",
        version=versions.cni_plugins,
        programs=CNI_PLUGINS,
        releases=_on_github("containernetworking/plugins", archive, f"{archive}.sha256", members),
        go_install=GoInstall(
            packages={plugin: f"{module}/plugins/{folders[plugin]}/{plugin}" for plugin in CNI_PLUGINS},
            version_variable=f"{module}/pkg/utils/buildversion.BuildVersion=v{{version}}",
        ),
    )


def runc(versions: Versions) -> Component:
    return Component(
        name="runc",
        version=versions.runc,
        programs=("runc",),
        releases=_on_github("opencontainers/runc", "runc.{arch}", "runc.sha256sum", {"runc": ""}),
        package=Package(name="runc", paths=("usr/sbin/runc", "usr/bin/runc")),
    )


def state_metrics(versions: Versions) -> Component:
    """kube-state-metrics, which is released as source and images only."""
    module = "k8s.io/kube-state-metrics/v2"
    return Component(
        name="kube-state-metrics",
        version=versions.state_metrics,
        programs=("kube-state-metrics",),
        go_install=GoDependency(
            module=module,
            packages={"kube-state-metrics": module},
            version_variable="github.com/prometheus/common/version.Version={version}",
        ),
    )


def kind(versions: Versions) -> Component:
    """kind itself; no program of a cluster."""
    program = "kind-linux-{arch}"
    return Component(
        name="kind",
        version=versions.kind,
        programs=("kind",),
        releases=_on_github("kubernetes-sigs/kind", program, f"{program}.sha256sum", {"kind": ""}),
        go_install=GoInstall(packages={"kind": "sigs.k8s.io/kind"}),
    )


BUSYBOX = Component(
    name="busybox",
    programs=("busybox",),
    package=Package(name="busybox-static", paths=("bin/busybox", "usr/bin/busybox")),
)
"""Statically linked, because images are made of it; its version is the distribution's."""

PROMTOOL = Component(
    name="promtool",
    programs=("promtool",),
    package=Package(name="prometheus", paths=("usr/bin/promtool",)),
)
"""Evaluates rules of Prometheus; no program of a cluster."""


class BinarySet(msgspec.Struct, frozen=True, kw_only=True):
    """Every program that a provider needs.

    Start them by exactly these paths: the built ones are symbolic links to one binary, which acts by the name that it is
    started under.
    """

    kubelet: Path
    kube_apiserver: Path
    kube_controller_manager: Path
    kube_scheduler: Path
    kube_proxy: Path
    kubeadm: Path
    kubectl: Path
    etcd: Path
    containerd: Path
    ctr: Path
    shim_dir: Path
    """Folder of containerd-shim-runc-v2; put it, and the folder of runc, on containerd's PATH."""
    runc: Path
    cni_dir: Path
    """Folder with the CNI plugins ptp, loopback and host-local."""
    busybox: Path
    """Statically linked."""
    versions: dict[str, str]
    """Program -> version without `v`, as the program reports it."""
    source: dict[str, BinarySource]
    """Program -> its source."""

    @property
    def kubernetes_version(self) -> str:
        """The cluster's version: that of its API server."""
        return self.versions["kube-apiserver"]
