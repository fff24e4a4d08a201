"""Names of node images. Pure."""

import re

from crashloop.spec.version import KubernetesVersion

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
