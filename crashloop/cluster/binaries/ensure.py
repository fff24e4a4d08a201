"""All programs of a cluster: the user's own first, then the cache's, then downloaded or built ones."""

import shutil
from pathlib import Path

from crashloop.cluster.binaries import components
from crashloop.cluster.binaries.components import CNI_PLUGINS, KUBERNETES_PROGRAMS, BinarySet, BinarySource, Component
from crashloop.cluster.binaries.provision import CachedEntry, Provision
from crashloop.cluster.binaries.versions import (
    NoAnswer,
    ask_version,
    check_own_versions,
    is_static,
    own_api_server,
    own_folder,
    own_kubelet,
)
from crashloop.cluster.provider import Progress
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.settings import Settings
from crashloop.spec.version import KubernetesVersion, check_controllers, check_skew, check_supported

SHIM = "containerd-shim-runc-v2"
OLDEST_KIND = (0, 32)
"""Older ones write kubeadm.k8s.io/v1beta3 for every version (pkg/cluster/internal/kubeadm of sigs.k8s.io/kind@v0.31.0)."""
PROGRAMS = (*KUBERNETES_PROGRAMS, "etcd", "containerd", "ctr", SHIM, "runc", *CNI_PLUGINS, "busybox")


class _Chosen:
    """The programs found so far."""

    def __init__(self) -> None:
        self.paths: dict[str, Path] = {}
        self.versions: dict[str, str] = {}
        self.source: dict[str, BinarySource] = {}

    def lacks(self, *programs: str) -> bool:
        return any(program not in self.paths for program in programs)

    def add(self, program: str, path: Path, version: str, source: BinarySource) -> None:
        """Take a program, unless an earlier source had it."""
        if program not in self.paths:
            self.paths[program], self.versions[program], self.source[program] = path, version, source

    def add_entry(self, cached: CachedEntry) -> None:
        for program, known in cached.entry.programs.items():
            self.add(program, cached.path(program), known.version, cached.entry.source)


def ensure_binaries(
    settings: Settings,
    *,
    kubernetes_version: str,
    bin_dir: Path | None = None,
    kubelet_binary: Path | None = None,
    progress: Progress,
) -> BinarySet:
    """Every program of a cluster of this version.

    A kube-apiserver in `bin_dir` decides the cluster's version, whatever `kubernetes_version` says.
    Raises UsageError for a version or a binary of the user's that cannot be used, PrerequisiteError if the host has no way
    to get what is missing, CommandFailed if a build fails.
    """
    wanted = KubernetesVersion.parse(kubernetes_version)
    check_supported("--kubernetes-version", wanted)
    chosen = _Chosen()
    api_server = _take_users_own(chosen, wanted, bin_dir, kubelet_binary)
    provision = Provision(settings, progress)
    provision.cache.remove_leftovers()
    fill_with = wanted if wanted.release == api_server.release else api_server
    _fill(chosen, provision, components.kubernetes(str(fill_with)))
    _fill(chosen, provision, components.etcd(settings.versions))
    _fill(chosen, provision, components.containerd(settings.versions))
    _fill(chosen, provision, components.cni_plugins(settings.versions))
    _take_hosts_own(chosen)
    _fill(chosen, provision, components.runc(settings.versions))
    _fill(chosen, provision, components.BUSYBOX)
    return _binary_set(chosen)


def ensure_kubelet(settings: Settings, *, kubernetes_version: str, api_server: str, progress: Progress) -> Path:
    """The kubelet of another version, for a node that differs from its cluster.

    Raises UsageError if this suite does not know that version or upstream does not support it with this API server, and
    what `ensure_binaries` raises.
    """
    version = KubernetesVersion.parse(kubernetes_version)
    subject = f"kubelet {version}"
    check_supported(subject, version)
    check_skew(subject, "kubelet", version, KubernetesVersion.parse(api_server))
    provision = Provision(settings, progress)
    whole = provision.cached(components.kubernetes(str(version)))
    return (whole or provision.ensure(_kubelet_alone(version))).path("kubelet")


def ensure_controllers(
    settings: Settings, *, kubernetes_version: str, api_server: str, progress: Progress
) -> BinarySet:
    """The programs of another version, for its controller manager and scheduler.

    Raises UsageError if upstream does not support them with this API server, and what `ensure_binaries` raises.
    """
    check_controllers(kubernetes_version, api_server)
    return ensure_binaries(settings, kubernetes_version=kubernetes_version, progress=progress)


def require_controllers(settings: Settings, *, kubernetes_version: str, progress: Progress) -> None:
    """Check that `ensure_controllers` has a source for a version, without getting it. Raises what it raises if there is none."""
    Provision(settings, progress).require(components.kubernetes(str(KubernetesVersion.parse(kubernetes_version))))


def require_kubelet(settings: Settings, *, kubernetes_version: str, progress: Progress) -> None:
    """Check that `ensure_kubelet` has a source for a version, without getting it. Raises what it raises if there is none."""
    version, provision = KubernetesVersion.parse(kubernetes_version), Provision(settings, progress)
    if provision.cached(components.kubernetes(str(version))) is None:
        provision.require(_kubelet_alone(version))


def _kubelet_alone(version: KubernetesVersion) -> Component:
    return components.kubernetes(str(version), ("kubelet",))


def ensure_containerd_1(settings: Settings, progress: Progress) -> CachedEntry:
    """containerd 1 with its shim and its client. Raises what `ensure_binaries` raises."""
    return Provision(settings, progress).ensure(components.containerd_1(settings.versions))


def ensure_state_metrics(settings: Settings, progress: Progress) -> Path:
    """kube-state-metrics. Raises what `ensure_binaries` raises."""
    return Provision(settings, progress).ensure(components.state_metrics(settings.versions)).path("kube-state-metrics")


def ensure_promtool(settings: Settings, progress: Progress) -> Path:
    """The host's own promtool, or that of the distribution's package. Raises UsageError if there is neither."""
    if own := shutil.which("promtool"):
        return Path(own)
    try:
        return Provision(settings, progress).ensure(components.PROMTOOL).path("promtool")
    except PrerequisiteError as error:
        raise UsageError(
            "promtool: it is neither on PATH nor in a package; install Prometheus (on Debian and Ubuntu: package prometheus)."
        ) from error


def ensure_kind(settings: Settings, *, kind_binary: Path | None, progress: Progress) -> Path:
    """The user's own `kind`, or the release that this suite was tried with.

    Raises UsageError if the user's own does not answer or is too old, PrerequisiteError if there is no way to get the other.
    """
    if kind_binary is None:
        return Provision(settings, progress).ensure(components.kind(settings.versions)).path("kind")
    path = kind_binary.expanduser().absolute()
    try:
        version = ask_version("kind", path)
    except NoAnswer as error:
        raise UsageError(f"--kind-binary {path}: {error}\nExpected a `kind` that answers `version`.") from error
    if KubernetesVersion.parse(version).release < OLDEST_KIND:
        oldest = ".".join(map(str, OLDEST_KIND))
        raise UsageError(
            f"--kind-binary {path}: is kind {version}; {oldest} or newer is needed.\nLeave the option out."
        )
    return path


def ensure_busybox(settings: Settings, progress: Progress) -> Path:
    """busybox alone, for nodes whose image has everything else. Raises PrerequisiteError."""
    chosen = _Chosen()
    _take_hosts_own(chosen)
    _fill(chosen, Provision(settings, progress), components.BUSYBOX)
    return chosen.paths["busybox"]


def check_kubelet(path: Path, *, api_server: str, option: str = "--kubelet-binary") -> KubernetesVersion:
    """The version of the user's own kubelet. Raises UsageError if it cannot be a node of a cluster of this version."""
    version = own_kubelet(path, option)
    check_skew(f"{option} {path}", "kubelet", version, KubernetesVersion.parse(api_server))
    return version


def _take_users_own(
    chosen: _Chosen, wanted: KubernetesVersion, bin_dir: Path | None, kubelet_binary: Path | None
) -> KubernetesVersion:
    own = {} if bin_dir is None else own_folder(bin_dir.expanduser().absolute(), PROGRAMS)
    if any(plugin not in own for plugin in CNI_PLUGINS):  # containerd looks for all of them in one folder
        own = {program: path for program, path in own.items() if program not in CNI_PLUGINS}
    api_server = own_api_server(own["kube-apiserver"]) if "kube-apiserver" in own else wanted
    if kubelet_binary is not None:
        own.pop("kubelet", None)
        kubelet = kubelet_binary.expanduser().absolute()
        chosen.add("kubelet", kubelet, str(check_kubelet(kubelet, api_server=str(api_server))), BinarySource.USER)
    versions = {"kube-apiserver": str(api_server), **check_own_versions(own, api_server)}
    for program, path in own.items():
        chosen.add(program, path, versions.get(program, "not asked"), BinarySource.BIN_DIR)
    return api_server


def _take_hosts_own(chosen: _Chosen) -> None:
    """runc and busybox of the host, where they work: a distribution's runc fits its kernel and security modules best."""
    for program in ("runc", "busybox"):
        found = shutil.which(program)
        if found is None or (program == "busybox" and not is_static(Path(found))):
            continue
        try:
            chosen.add(program, Path(found), ask_version(program, Path(found)), BinarySource.HOST)
        except NoAnswer:
            continue


def _fill(chosen: _Chosen, provision: Provision, component: Component) -> None:
    if chosen.lacks(*component.programs):
        chosen.add_entry(provision.ensure(component))


def _binary_set(chosen: _Chosen) -> BinarySet:
    paths = chosen.paths
    return BinarySet(
        kubelet=paths["kubelet"],
        kube_apiserver=paths["kube-apiserver"],
        kube_controller_manager=paths["kube-controller-manager"],
        kube_scheduler=paths["kube-scheduler"],
        kube_proxy=paths["kube-proxy"],
        kubeadm=paths["kubeadm"],
        kubectl=paths["kubectl"],
        etcd=paths["etcd"],
        containerd=paths["containerd"],
        ctr=paths["ctr"],
        shim_dir=paths[SHIM].parent,
        runc=paths["runc"],
        cni_dir=paths["ptp"].parent,
        busybox=paths["busybox"],
        versions=chosen.versions,
        source=chosen.source,
    )
