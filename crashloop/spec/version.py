"""Kubernetes versions, compared by number."""

import re
from typing import NamedTuple, Self

from crashloop.errors import UsageError

RELEASES = ((1, 33), (1, 34), (1, 35), (1, 36), (1, 37))
"""Releases whose restart behaviour the model has; a newer one is judged by the rules of the last."""

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
