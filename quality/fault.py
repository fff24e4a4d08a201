"""A fault as data: what the wrapper around a real kubelet does."""

from enum import StrEnum
from typing import Any

import msgspec

from quality.api_server import Drop
from quality.lies import TRUTH, Lie


class Meddling(msgspec.Struct, frozen=True, kw_only=True):
    """Actions of the CRI proxy on containers, and changes of answers about them. By default it forwards everything."""

    lie: Lie = TRUTH
    create_late_s: float = 0.0
    """Delay of CreateContainer, except for the first instance of a container."""
    create_late_from: int = 1
    """The first restart of a container whose CreateContainer is delayed."""
    removes_exited: bool = False
    """Exited containers are removed before the kubelet sees their exit."""
    replaces_exited: bool = False
    """A container that exited by itself is created and started again before the kubelet sees its exit."""
    keeps_environment: bool = False
    """Each instance of a container gets the environment of the first."""
    starts_twice: bool = False
    """A second instance of every container that the kubelet restarts is started."""


PASSES_ON = Meddling()


class Accident(StrEnum):
    """A disturbance of a node during a scenario that the recorder does not know of."""

    KUBELET_KILLED = "kubelet-killed"
    """The kubelet is killed and started again."""
    RUNTIME_KILLED = "runtime-killed"
    """The container runtime is killed and started again, which cuts its event stream."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """The fault of a node's kubelet. Default: none."""

    name: str
    sentence: str
    """Its behaviour, as in the table."""
    meddling: Meddling | None = None
    """None: the kubelet talks to its runtime directly."""
    really: dict[str, Any] = {}
    """KubeletConfiguration fragment that the kubelet gets on top of the declared configuration."""
    stretch: float = 1.0
    """Each delay is that many times as long as the curve of the declared configuration has it."""
    from_second_start: bool = False
    """Whether the kubelet meddles only after it was started for the second time."""
    panics: bool = False
    """Whether it crashes where it would have refused its configuration."""
    phase_while_all_wait: str | None = None
    """The phase that it states while no container of a pod runs."""
    drops: tuple[Drop, ...] = ()
    """Fields that the API server drops from the containers of its pods. Its kubelet is a correct one."""
    fronted: bool = False
    """Whether a front shows the declared configuration instead of the real one."""
    accident: Accident | None = None
    """Disturbance when a container of the node begins its third life."""
