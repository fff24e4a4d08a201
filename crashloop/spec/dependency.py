"""What a container depends on before it can start: ConfigMaps and Secrets of its scenario, and images of the run's own registry.

The registry has a repository for each container, with one tag that names one of two images.
"""

from collections.abc import Collection, Iterable
from enum import StrEnum

import msgspec


class ConfigKind(StrEnum):
    """Kinds of objects that hold configuration; upstream's spelling."""

    CONFIG_MAP = "ConfigMap"
    SECRET = "Secret"


class ConfigObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object in the namespace of the pod. An intervention names it by `name`; the stored name begins with the scenario's."""

    name: str
    data: dict[str, str]
    """Values are printable and without blanks, for the containers note them in their journals."""
    kind: ConfigKind = ConfigKind.CONFIG_MAP
    present: bool = True
    """Whether it is there when the pod is created. Otherwise an intervention creates it."""


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """An environment variable with the value that an object has under its name. Each life notes it."""

    name: str
    object: str
    """Name of the object in the scenario."""


PRESENCE = {"create-object": (False, True), "change-object": (True, True), "delete-object": (True, False)}
"""Whether an object has to be there before an intervention, by its action, and whether it is there afterwards."""


def fault_of_objects(
    objects: Iterable[ConfigObject],
    needed: Iterable[Variable],
    folders: Iterable[str],
    done: Iterable[tuple[str, str | None]],
) -> str | None:
    """What is wrong with the variables and folders of a pod, or with its interventions: pairs of action and object's name."""
    held = {each.name: each.data for each in objects}
    lacking = next((each for each in needed if each.name not in held.get(each.object, {})), None)
    if lacking is not None:
        return f"no object {lacking.object!r} has a value {lacking.name!r}"
    unknown = next((name for name in folders if name not in held), None)
    if unknown is not None:
        return f"no object {unknown!r} can be mounted"
    present = {each.name for each in objects if each.present}
    for action, name in done:
        if action not in PRESENCE:
            continue
        before, after = PRESENCE[action]
        if name not in held or (name in present) is not before:
            return f"{action} {name!r}, which {'is there already' if name in present else 'was never made, or is gone'}"
        present = present | {name} if after else present - {name}
    return None


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
