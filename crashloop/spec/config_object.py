"""ConfigMaps and Secrets of a scenario, and what containers take from them."""

from collections.abc import Iterable
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
