"""Interventions: what a scenario does to its pod or node while it is watched, and when."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from crashloop.spec.control_plane import Component
from crashloop.spec.dependency import VERSIONS


class Trigger(msgspec.Struct, frozen=True, kw_only=True):
    """When to intervene: `after_s` seconds after restart `after_restart` of `container` was seen to have exited again.

    `after_restart` n means: the instance with restart number n has exited (0: the first instance has).
    Without it, `after_s` counts from the pod's creation; `before_pod`: right before it.
    """

    container: str | None = None
    after_restart: int | None = None
    after_s: float = 0.0
    before_pod: bool = False


class InterventionKind(StrEnum):
    """What the recorder can do in mid-scenario; each one is written into the history."""

    ANNOTATE = "annotate"
    LABEL = "label"
    """Change a label of the pod."""
    CHANGE_IMAGE = "change-image"
    RESIZE = "resize"
    RECREATE_POD = "recreate-pod"
    KILL_SANDBOX = "kill-sandbox"
    """End the process that holds the pod's namespaces, through the runtime."""
    REMOVE_CONTAINER = "remove-container"
    """Have the runtime kill the running instance of the `container` and forget it, as `crictl rm --force` does."""
    DELETE_POD = "delete-pod"
    """Read its journals and delete it; returns once it is gone. With `read_after_s: 5.0` they are read so long after
    the request, while it ends; with `wait: false` it returns at once, and they are not read. With `at_once: true` beside that its
    object goes at once, as `kubectl delete --force` has it."""
    EDIT_STATIC_POD = "edit-static-pod"
    """Change the file of a static pod, which makes it another pod: its uid is a hash of its manifest."""
    RENEW_STATIC_POD = "renew-static-pod"
    """Remove the file of a static pod, and write it again as it was after `absent_s` seconds: the same pod by its uid."""
    DELETE_MIRROR_POD = "delete-mirror-pod"
    """Delete the API server's picture of a static pod."""
    CREATE_OBJECT = "create-object"
    CHANGE_OBJECT = "change-object"
    DELETE_OBJECT = "delete-object"
    OFFER_IMAGE = "offer-image"
    """From now on the registry's tag of the `container` names the image `version`."""
    RESTART_KUBELET = "restart-kubelet"
    """Let its process stay away for `down_s`. With `wait: false`, as for the runtime, what comes next comes meanwhile."""
    KILL_KUBELET = "kill-kubelet"
    RESTART_RUNTIME = "restart-runtime"
    """Let it be away for `down_s`. With `hangs: true` its process stays, and answers nothing meanwhile."""
    TAKE_NETWORK = "take-network"
    """Take the configuration of the pod network away from the node; its pods keep their addresses."""
    GIVE_NETWORK = "give-network"
    UNLABEL_NODE = "unlabel-node"
    """Take the label of its profile from the node, by which a pod chooses it. The node has it back at the end."""
    WRITE_KUBELET_CONFIG = "write-kubelet-config"
    """Write the configuration of another profile where the kubelet reads it when it starts; the kubelet runs on."""
    STOP_COMPONENT = "stop-component"
    """End the `component` of the control plane."""
    START_COMPONENT = "start-component"
    """Start it again; an API server with `feature_gates` on top of those that the control plane was made with."""
    CUT_OFF_NODE = "cut-off-node"
    """Let nothing through between the node and the control plane."""
    CONNECT_NODE = "connect-node"


RESTART_THE_KUBELET = frozenset((InterventionKind.RESTART_KUBELET, InterventionKind.KILL_KUBELET))
"""Interventions after which another kubelet process runs; with an argument `profile`, by that profile.

With `refused: true` the kubelet is to refuse that profile, and the node is without one until the next restart.
"""

CHANGE_A_CONTAINER = frozenset((InterventionKind.CHANGE_IMAGE, InterventionKind.RESIZE))
"""Interventions that change the definition of one container, and end one life of it at most."""

MAKE_ANOTHER_POD = frozenset((InterventionKind.RECREATE_POD, InterventionKind.EDIT_STATIC_POD))
"""Interventions that end the pod and make one of the same name."""

NAME_A_PROFILE = RESTART_THE_KUBELET | {InterventionKind.WRITE_KUBELET_CONFIG}
"""Interventions that may change the kubelet's configuration."""

DISTURB_NODE = NAME_A_PROFILE | {
    InterventionKind.RESTART_RUNTIME,
    InterventionKind.TAKE_NETWORK,
    InterventionKind.GIVE_NETWORK,
    InterventionKind.UNLABEL_NODE,
}
"""Interventions that every pod of the node feels."""

NEED_OWN_CONTROL_PLANE = frozenset(
    (
        InterventionKind.STOP_COMPONENT,
        InterventionKind.START_COMPONENT,
        InterventionKind.CUT_OFF_NODE,
        InterventionKind.CONNECT_NODE,
    )
)
"""Interventions that everything in the cluster feels."""


def down_s(arguments: Mapping[str, Any] | None) -> float:
    """The pause before a kubelet or runtime starts again, by the arguments of its restart."""
    return float((arguments or {}).get("down_s", 0.0))


def hangs(arguments: Mapping[str, Any] | None) -> bool:
    """Whether the runtime does not end but hangs, by the arguments of its restart."""
    return bool((arguments or {}).get("hangs"))


def absent_s(arguments: Mapping[str, Any] | None) -> float:
    """How long the file of a static pod is absent before it is written again."""
    return float((arguments or {}).get("absent_s", 1.0))


def read_after_s(arguments: Mapping[str, Any] | None) -> float:
    """How long after the request to delete a pod its journals are read, by the arguments of its deletion; 0: before it."""
    return float((arguments or {}).get("read_after_s", 0.0))


class Intervention(msgspec.Struct, frozen=True, kw_only=True):
    """One action at one trigger.

    `arguments` are the action's own; for resize: {"container": ..., "cpu": "60m"}; for an action on an object: {"object": ...},
    and for its change also {"data": {...}}; for a restart of kubelet or runtime: {"down_s": 12.0}, the pause before it starts.
    """

    trigger: Trigger
    action: InterventionKind
    arguments: dict[str, Any] = {}

    def __post_init__(self) -> None:
        if self.profile is not None and self.action not in NAME_A_PROFILE:
            raise ValueError(f"{self.action} cannot change the kubelet's profile; only a restart of the kubelet can")
        if self.action is InterventionKind.TAKE_NETWORK and not self.trigger.before_pod:
            raise ValueError(f"{self.action} comes before the pod: restarts that wait for the network are not judged")
        if self.trigger.before_pod and self.action not in DISTURB_NODE:
            raise ValueError(f"{self.action} needs a pod; only what is done to a node can come before it")
        if self.profile is None and (self.refused or self.action is InterventionKind.WRITE_KUBELET_CONFIG):
            raise ValueError(f"{self.action} needs the argument 'profile'")
        if self.action in (InterventionKind.STOP_COMPONENT, InterventionKind.START_COMPONENT):
            known = [each.value for each in Component]
            if self.arguments.get("component") not in known:
                raise ValueError(f"{self.action} needs the argument 'component', one of: {', '.join(known)}")
        if self.action is InterventionKind.OFFER_IMAGE and self.arguments.get("version") not in VERSIONS:
            raise ValueError(f"{self.action} needs the argument 'version', one of: {', '.join(map(str, VERSIONS))}")

    @property
    def profile(self) -> str | None:
        """Name of the kubelet profile that is written for the next start of the kubelet; None: its configuration stays."""
        return self.arguments.get("profile")

    @property
    def refused(self) -> bool:
        """Whether the kubelet is to refuse the profile."""
        return bool(self.arguments.get("refused"))
