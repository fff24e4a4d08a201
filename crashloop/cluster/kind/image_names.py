"""What the name of a node image tells. Pure."""

import re

from crashloop.spec.version import KubernetesVersion

OFFICIAL = "kindest/node"
_VERSION_IN_TAG = re.compile(r":v?(\d+\.\d+\.\d+)[^/@]*(?:@.*)?$")


def official_image(version: str) -> str:
    """kind's own image of a version; not every version has one."""
    return f"{OFFICIAL}:v{KubernetesVersion.parse(version)}"


def version_in_tag(image: str | None) -> str | None:
    """The version of Kubernetes that an image's tag begins with, as those of kind's images do; None without one."""
    match = _VERSION_IN_TAG.search(image or "")
    return match[1] if match else None
