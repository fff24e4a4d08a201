"""A fault as data: what the wrapper around a real kubelet does."""

from enum import StrEnum
from typing import Any

import msgspec

from quality.lies import TRUTH, Lie


class Meddling(msgspec.Struct, frozen=True, kw_only=True):
    """What the CRI proxy does to containers and to what is said about them. The default is to pass everything on."""

    lie: Lie = TRUTH
    create_late_s: float = 0.0
    """CreateContainer is held back for so long, but for the first instance of a container."""
    removes_exited: bool = False
    """Exited containers are removed before the kubelet hears of their exit."""
    replaces_exited: bool = False
    """A container that has exited by itself is created and started again before the kubelet hears of its exit."""
    starts_twice: bool = False
    """With every container that the kubelet restarts a second instance of it is started."""


PASSES_ON = Meddling()


class Accident(StrEnum):
    """What happens to a node in mid-scenario without the recorder being told."""

    KUBELET_KILLED = "kubelet-killed"
    """The kubelet is killed and started again."""
    RUNTIME_KILLED = "runtime-killed"
    """The container runtime is killed and started again, which cuts its event stream."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a node's kubelet. The default is nothing."""

    name: str
    sentence: str
    """What such a kubelet does, as the table says it."""
    meddling: Meddling | None = None
    """None: the kubelet talks to its runtime directly."""
    really: dict[str, Any] = {}
    """KubeletConfiguration fragment that the kubelet gets on top of the declared configuration."""
    fronted: bool = False
    """Whether a front shows the declared configuration in place of the real one."""
    accident: Accident | None = None
    """What happens once a container of the node has begun its third life."""
