"""Images of the run's own registry: a repository for each container, with one tag that names one of two images."""

from collections.abc import Collection, Iterable
from enum import StrEnum

import msgspec

VERSIONS = (1, 2)
"""The images there are. Each gives its containers its number as the environment variable VERSION_VARIABLE."""
VERSION_VARIABLE = "IMAGE_VERSION"
PASSWORD = "open-sesame"
"""What the registry demands for an image with a pull secret."""
PASSWORD_KEY = "password"


class PullPolicy(StrEnum):
    """When the kubelet pulls; upstream's spelling."""

    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"


class RegistryImage(msgspec.Struct, frozen=True, kw_only=True):
    """The image of a container that its node has to pull. Each life notes VERSION_VARIABLE."""

    policy: PullPolicy
    version: int | None = 1
    """The image that the tag names when the pod is created; None: the registry has none until an intervention offers one."""
    secret: str | None = None
    """The scenario's object that is the pull secret, with the password under PASSWORD_KEY; None: anybody may pull."""
    answers_after_s: float = 0.0
    """How long the registry takes for each answer about it."""

    def __post_init__(self) -> None:
        if self.version is not None and self.version not in VERSIONS:
            raise ValueError(f"there is no image version {self.version}; there are: {', '.join(map(str, VERSIONS))}")


def fault_of_images(pulled: Collection[str], offered: Iterable[str | None], *, is_named: bool) -> str | None:
    """What is wrong with the images of a pod: of the containers `pulled`; interventions offer those of the others.

    `is_named`: whether the recorder names the images of the pod, or of the Job that makes it.
    """
    if pulled and not is_named:
        return "a pod of a Deployment and a static pod take no image from the registry"
    stranger = next((each for each in offered if each not in pulled), None)
    return None if stranger is None else f"container {stranger!r} has no image in the registry"
