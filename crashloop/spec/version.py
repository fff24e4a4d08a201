"""Kubernetes versions, compared by number; the releases that this suite knows (releases.yaml), and which may run together.

Upstream's rule (Version Skew Policy): a kubelet and kube-proxy must not be newer than kube-apiserver and may be up to three
minor versions older; controller-manager and scheduler must not be newer and may be one minor version older.
"""

import re
from pathlib import Path
from typing import NamedTuple, Self

from crashloop.errors import UsageError
from crashloop.yaml_text import read_yaml

_VERSION = re.compile(r"v?(?P<major>\d{1,9})\.(?P<minor>\d{1,9})(?:\.(?P<patch>\d{1,9}))?(?:[-+].*)?", re.ASCII)


class KubernetesVersion(NamedTuple):
    """A Kubernetes release; pre-release and build suffixes are dropped (`v1.37.0-rc.1` is 1.37.0)."""

    major: int
    minor: int
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `1.37`, `1.37.1` or `v1.37.1-rc.0+build`. Raises UsageError on anything else."""
        match = _VERSION.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"Kubernetes version {text!r}: expected something like 1.37.1 or v1.37.1.")
        return cls(int(match["major"]), int(match["minor"]), int(match["patch"] or 0))

    @property
    def release(self) -> tuple[int, int]:
        """Major and minor, the granularity in which behaviour differs: `(1, 37)`."""
        return self.major, self.minor

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


_TABLE = read_yaml(Path(__file__).with_name("releases.yaml").read_text(encoding="utf-8"))

PINNED: tuple[str, ...] = tuple(row["version"] for row in _TABLE["releases"])
"""One version of each release that this suite knows, oldest first; `make versions` gets them all."""

(DEFAULT_VERSION,) = (row["version"] for row in _TABLE["releases"] if row.get("default"))
"""Of clusters and kubelets, unless another is asked for."""

RELEASES = tuple(KubernetesVersion.parse(each).release for each in PINNED)
"""Releases whose restart behaviour the model has; a newer one is judged by the rules of the last."""

MAX_MINORS_OLDER: dict[str, int] = _TABLE["skew"]
"""How many minor versions each program may be older than the API server."""


OLDEST, NEWEST = RELEASES[0], RELEASES[-1]
"""Releases whose restart behaviour this suite has a model of; a newer one is judged by the rules of the newest."""

MINORS_OF_A_YEAR = 3


def check_supported(subject: str, version: KubernetesVersion) -> None:
    """Raise UsageError for a release that is older than every model, or newer by more than a year of releases."""
    if version.release > (NEWEST[0], NEWEST[1] + MINORS_OF_A_YEAR):
        raise UsageError(
            f"{subject}: version is {version}; the newest release whose behaviour this suite knows is "
            f"{NEWEST[0]}.{NEWEST[1]}, and by its rules it judges releases of a year after it.\nUse one of these releases."
        )
    if version.release < OLDEST:
        raise UsageError(
            f"{subject}: version is {version}; the oldest release whose behaviour this suite knows is "
            f"{OLDEST[0]}.{OLDEST[1]}.\nUse that or a newer one."
        )


def check_controllers(controllers: str, api_server: str) -> None:
    """Raise UsageError if upstream does not support controller manager and scheduler of this version with this API server."""
    version = KubernetesVersion.parse(controllers)
    for program in ("kube-controller-manager", "kube-scheduler"):
        subject = f"{program} {version}"
        check_supported(subject, version)
        check_skew(subject, program, version, KubernetesVersion.parse(api_server))


def can_join_api_server(kubelet: KubernetesVersion, api_server: KubernetesVersion) -> bool:
    """Whether upstream supports a kubelet of this version beside this API server."""
    return 0 <= api_server.minor - kubelet.minor <= MAX_MINORS_OLDER["kubelet"]


def check_skew(subject: str, program: str, version: KubernetesVersion, api_server: KubernetesVersion) -> None:
    """Raise UsageError if upstream does not support this version of a program with this API server.

    A kubelet that is newer than every model may be one minor version newer than the API server: a build of the next release
    has no released control plane.
    """
    allowed = MAX_MINORS_OLDER[program]
    is_of_the_next = program == "kubelet" and version.release > NEWEST and version.minor - api_server.minor == 1
    if version.release > api_server.release and not is_of_the_next:
        raise UsageError(
            f"{subject}: version {version} is newer than the API server ({api_server}), which upstream does not support.\n"
            f"Bring the cluster up with --kubernetes-version {version}, or use an older {program}."
        )
    if api_server.minor - version.minor > allowed:
        raise UsageError(
            f"{subject}: version {version} is {api_server.minor - version.minor} minor versions older than the API server "
            f"({api_server}); upstream supports at most {allowed}.\n"
            f"Bring the cluster up with an older --kubernetes-version, or use a newer {program}."
        )
