"""Another placement of a load: which of the nodes that are alike has which of its parts. Pure.

A difference between two loads may be one of their nodes: runs of the same loads in several placements show which it is.
"""

from typing import TypeVar

import msgspec

from crashloop.errors import UsageError
from crashloop.stress.loads import Load
from crashloop.stress.profile import Disturbance, StressProfile

OPTION = "--placement"

_OnNode = TypeVar("_OnNode", bound=Load | Disturbance)


def placed(profile: StressProfile, number: int) -> StressProfile:
    """The profile with each load and disturbance `number` nodes further, among the nodes that are alike.

    Nodes are alike if they have one kubelet profile and no arm; after the last of them comes the first. Raises UsageError for
    a number that moves nothing, unless it is 0.
    """
    if not number:
        return profile
    moved = {name: alike[(at + number) % len(alike)] for alike in _alike(profile) for at, name in enumerate(alike)}
    if not moved:
        raise UsageError(
            f'{OPTION} {number}: stress profile "{profile.name}" has no two nodes with the same kubelet profile, so its loads '
            f"have one placement.\nLeave {OPTION} out, or choose another profile, such as demand."
        )
    if all(name == moved[name] for name in moved):
        raise UsageError(
            f'{OPTION} {number}: stress profile "{profile.name}" has {len(moved)} nodes with the same kubelet profile, so each '
            f"load is on its own node again.\nExpected 1 to {len(moved) - 1}."
        )
    return msgspec.structs.replace(
        profile,
        loads={name: _on(load, moved) for name, load in profile.loads.items()},
        disturbances=tuple(_on(each, moved) for each in profile.disturbances),
    )


def _alike(profile: StressProfile) -> list[list[str]]:
    names: dict[str, list[str]] = {}
    for node in profile.nodes:
        if not node.arm:
            names.setdefault(node.profile, []).append(node.name)
    return [alike for alike in names.values() if len(alike) > 1]


def _on(each: _OnNode, moved: dict[str, str]) -> _OnNode:
    return msgspec.structs.replace(each, node=moved.get(each.node, each.node))
