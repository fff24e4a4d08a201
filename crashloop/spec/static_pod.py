"""The static pod of a scenario: the kubelet makes it of a file of its node, and shows it to the API server as a mirror pod."""

import msgspec

from crashloop.spec.intervention import DISTURB_NODE, InterventionKind

OF_STATIC_PODS = frozenset((InterventionKind.EDIT_STATIC_POD, InterventionKind.DELETE_MIRROR_POD))
"""Interventions that only a static pod knows."""

REACH_THE_POD = OF_STATIC_PODS | DISTURB_NODE | {InterventionKind.KILL_SANDBOX, InterventionKind.REMOVE_CONTAINER}
"""Interventions that a static pod feels; a change of its mirror pod does not reach it."""


class StaticPod(msgspec.Struct, frozen=True, kw_only=True, tag="static-pod"):
    """A file in the node's staticPodPath, which the recorder writes, changes and removes."""
