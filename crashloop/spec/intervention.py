"""Interventions: what a scenario does to its pod or node while it is watched, and when."""

from enum import StrEnum
from typing import Any

import msgspec


class Trigger(msgspec.Struct, frozen=True, kw_only=True):
    """When to intervene: `after_s` seconds after restart `after_restart` of `container` was seen to have exited again.

    `after_restart` n means: the instance with restart number n has exited (0: the first instance has).
    Without it, `after_s` counts from the pod's creation.
    """

    container: str | None = None
    after_restart: int | None = None
    after_s: float = 0.0


class InterventionKind(StrEnum):
    """What the recorder can do in mid-scenario; each one is written into the history."""

    ANNOTATE = "annotate"
    CHANGE_IMAGE = "change-image"
    RESIZE = "resize"
    RECREATE_POD = "recreate-pod"
    KILL_SANDBOX = "kill-sandbox"
    """End the process that holds the pod's namespaces, through the runtime."""
    DELETE_POD = "delete-pod"
    CREATE_OBJECT = "create-object"
    CHANGE_OBJECT = "change-object"
    DELETE_OBJECT = "delete-object"
    RESTART_KUBELET = "restart-kubelet"
    KILL_KUBELET = "kill-kubelet"
    RESTART_RUNTIME = "restart-runtime"


RESTART_THE_KUBELET = frozenset((InterventionKind.RESTART_KUBELET, InterventionKind.KILL_KUBELET))
"""Interventions after which another kubelet process runs; with an argument `profile`, by that profile."""

DISTURB_NODE = RESTART_THE_KUBELET | {InterventionKind.RESTART_RUNTIME}
"""Interventions that every pod of the node feels."""


class Intervention(msgspec.Struct, frozen=True, kw_only=True):
    """One action at one trigger.

    `arguments` are the action's own; for resize: {"container": ..., "cpu": "60m"}; for an action on an object: {"object": ...},
    and for its change also {"data": {...}}.
    """

    trigger: Trigger
    action: InterventionKind
    arguments: dict[str, Any] = {}

    def __post_init__(self) -> None:
        if self.profile is not None and self.action not in RESTART_THE_KUBELET:
            raise ValueError(f"{self.action} cannot change the kubelet's profile; only a restart of the kubelet can")

    @property
    def profile(self) -> str | None:
        """Name of the kubelet profile that the kubelet restarts with; None: it keeps its own."""
        return self.arguments.get("profile")
