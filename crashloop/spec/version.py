"""Kubernetes versions, compared by number, and the releases that this suite knows: releases.yaml."""

import re
from pathlib import Path
from typing import NamedTuple, Self

from crashloop.errors import UsageError
from crashloop.yaml_text import read_yaml

_VERSION = re.compile(r"v?(?P<major>\d+)\.(?P<minor>\d+)(?:\.(?P<patch>\d+))?(?:[-+].*)?")


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
