"""Settings of the suite itself: frozen, typed, resolved once at start.

Precedence: option of the command > environment variable (CRASHLOOP_*) > default. Kubelet settings are not here: they are
profiles (manifests/kubelet). The resolved settings are written to the run directory.
"""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import platformdirs

from crashloop.errors import UsageError
from crashloop.spec.version import DEFAULT_VERSION, KubernetesVersion

APP = "crashloop"
SYSTEM_STATE = Path("/var/lib/crashloop")

MAX_STATE_DIR_BYTES = 60
"""A unix socket's path holds 107 bytes (unix(7), sun_path); the part after the state folder needs up to 47 of them."""


class Paths(msgspec.Struct, frozen=True, kw_only=True):
    """Folders on this host."""

    cache_dir: Path
    """Binaries and images, shared by all runs of this user; may be deleted at any time.

    Default: the user's cache folder (XDG_CACHE_HOME or ~/.cache), `crashloop` in it. CRASHLOOP_CACHE_DIR.
    """
    runs_dir: Path = Path("runs")
    """Run directories. Default: `runs` in the working directory. CRASHLOOP_RUNS_DIR."""
    state_dir: Path
    """State of clusters that are up: sockets, container roots, etcd's data. Must be a short path on a real disk.

    Default: /var/lib/crashloop for root, else the user's state folder. CRASHLOOP_STATE_DIR.
    """


class Downloads(msgspec.Struct, frozen=True, kw_only=True):
    """Sources of official releases."""

    release_url: str = "https://dl.k8s.io"
    """Base of the Kubernetes releases (`<base>/release/v<version>/bin/linux/<arch>/<program>` and `.sha256`).

    Default: the official site. For a mirror: CRASHLOOP_RELEASE_URL.
    """
    github_url: str = "https://github.com"
    """Base of the releases of etcd, containerd, runc, the CNI plugins and kind. CRASHLOOP_GITHUB_URL."""
    first_answer_s: float = 5.0
    """Seconds until a site without an answer counts as unreachable and the next source is tried.

    Default 5: a site that answers later would take minutes for some hundred MB. CRASHLOOP_FIRST_ANSWER_S.
    """
    stall_s: float = 30.0
    """Seconds without a byte after which a running download is abandoned. CRASHLOOP_STALL_S."""


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    """Default versions. One set for all providers; verified to work together."""

    kubernetes: str = DEFAULT_VERSION
    """Default: the newest release that the committed Go module builds. --kubernetes-version, CRASHLOOP_KUBERNETES_VERSION."""
    etcd: str = "3.7.0"
    """cmd/kubeadm/app/constants/constants.go@v1.37.1, DefaultEtcdVersion; serves the API servers of 1.33 to 1.37."""
    containerd: str = "2.3.7"
    containerd_1: str = "1.7.35"
    """For nodes of profiles on `containerd-1.7`, the last line of containerd 1."""
    cni_plugins: str = "1.9.1"
    runc: str = "1.3.3"
    """Only if the host has no runc and the release can be downloaded; otherwise the distribution's package decides."""
    state_metrics: str = "2.15.0"
    """kube-state-metrics, for scenarios that read it."""
    kind: str = "0.33.0"
    """For the provider `kind`; --kind-binary for another one."""


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """How long a cluster waits for its parts."""

    ready_s: float = 60.0
    """Seconds until a part of a local cluster that runs and is not ready counts as failed; longer on a host that starts processes
    slowly (crashloop.cluster.processes.slowness).

    Default 60: on two idle cores the slowest part takes 5. CRASHLOOP_READY_S.
    """


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings, as resolved."""

    paths: Paths
    downloads: Downloads = Downloads()
    waits: Waits = Waits()
    versions: Versions = Versions()

    def as_json(self) -> dict[str, Any]:
        """Plain data for run.json."""
        plain: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return plain


class Choice(NamedTuple):
    """A setting that a user can choose."""

    subject: str
    """Attribute of `Settings`."""
    name: str
    """Attribute of the subject."""
    kind: type


CHOICES = {
    "cache_dir": Choice("paths", "cache_dir", Path),
    "runs_dir": Choice("paths", "runs_dir", Path),
    "state_dir": Choice("paths", "state_dir", Path),
    "release_url": Choice("downloads", "release_url", str),
    "github_url": Choice("downloads", "github_url", str),
    "first_answer_s": Choice("downloads", "first_answer_s", float),
    "stall_s": Choice("downloads", "stall_s", float),
    "ready_s": Choice("waits", "ready_s", float),
    "kubernetes_version": Choice("versions", "kubernetes", str),
}
"""By the name of the option; docs/environment.md describes them."""


def variable_of(option: str) -> str:
    """The environment variable of a choice."""
    return f"CRASHLOOP_{option.upper()}"


def resolve_settings(
    options: Mapping[str, object | None] | None = None, environ: Mapping[str, str] | None = None
) -> Settings:
    """Settings from options, environment and defaults; an option that is None was not given.

    Raises UsageError naming the option or variable whose value makes no sense.
    """
    environ = os.environ if environ is None else environ
    chosen: dict[str, dict[str, Any]] = {
        "paths": {"cache_dir": platformdirs.user_cache_path(APP), "state_dir": _default_state_dir()},
        "downloads": {},
        "waits": {},
        "versions": {},
    }
    for name, choice in CHOICES.items():
        option, variable = (options or {}).get(name), variable_of(name)
        if option is not None:
            where, raw = "--" + name.replace("_", "-"), str(option)
        elif variable in environ:
            where, raw = variable, environ[variable]
        else:
            continue
        chosen[choice.subject][choice.name] = _CHECKS[choice.kind](where, raw)
        if choice.kind is Path and os.path.lexists(raw) and not Path(raw).is_dir():
            raise UsageError(f"{where} {raw}: it is no folder.\nName another.")
        if name == "kubernetes_version" and option is None:
            try:
                KubernetesVersion.parse(raw)
            except UsageError as error:
                raise UsageError(f"{where}: {error}") from error
    settings = Settings(
        paths=Paths(**chosen["paths"]),
        downloads=Downloads(**chosen["downloads"]),
        waits=Waits(**chosen["waits"]),
        versions=Versions(**chosen["versions"]),
    )
    _check(settings)
    return settings


def _check(settings: Settings) -> None:
    KubernetesVersion.parse(settings.versions.kubernetes)
    for name in ("release_url", "github_url"):
        url = getattr(settings.downloads, name)
        if not url.startswith(("https://", "http://")):
            raise UsageError(f"{name} {url!r}: expected an address that starts with https:// or http://.")
    length = len(os.fsencode(settings.paths.state_dir))
    if length > MAX_STATE_DIR_BYTES:
        raise UsageError(
            f"state folder {settings.paths.state_dir}: the path has {length} bytes, at most {MAX_STATE_DIR_BYTES} fit: "
            "the sockets in it may have paths of 107 bytes.\nSet CRASHLOOP_STATE_DIR to a shorter path."
        )


def _default_state_dir() -> Path:
    is_root = sys.platform == "linux" and os.geteuid() == 0
    return SYSTEM_STATE if is_root else platformdirs.user_state_path(APP)


def _absolute(where: str, raw: str) -> Path:
    if not raw.strip():
        raise UsageError(f"{where}: the value is empty; a folder was expected.")
    return Path(raw).expanduser().absolute()


def _text(where: str, raw: str) -> str:
    if not raw.strip():
        raise UsageError(f"{where}: the value is empty.")
    return raw.strip().rstrip("/")


def _seconds(where: str, raw: str) -> float:
    try:
        value = float(raw)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UsageError(f"{where}: {raw!r} is not a number of seconds above zero.")
    return value


_CHECKS: dict[type, Callable[[str, str], object]] = {Path: _absolute, str: _text, float: _seconds}
