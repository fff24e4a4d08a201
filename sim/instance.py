"""Instances of the containers of a simulated pod, and their state in the pod cache, as a sync sees them."""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

import msgspec

from crashloop.spec.pod import Container


class InstanceState(IntEnum):
    """State of an instance, in the order in which it passes through them."""

    NOT_YET = 0
    CREATED = 1
    RUNNING = 2
    EXITED = 3
    REMOVED = 4


class SimulatedInstance(msgspec.Struct, eq=False):
    """One container that the runtime created."""

    name: str
    ordinal: int
    """How many instances of the container the runtime created before."""
    number: int
    """The kubelet's: restartCount."""
    image: str
    sandbox: int
    """How many sandboxes the pod had by then."""
    created_ns: int
    container_id: str
    root: str
    """Whose root filesystem it has: its own container's, if the runtime made it one."""
    resources: str
    """Those it was created with."""
    pid: int
    previous_code: int | None
    """Exit code of the instance before."""
    earlier_words: tuple[str, ...] = ()
    """What the instances before it have left in their termination logs."""
    last_words: str = ""
    """What it has left in its own."""
    env: dict[str, str] = {}
    """What the kubelet gave it of objects."""
    started_ns: int | None = None
    spoke_ns: int = 0
    """When its program stamped its start."""
    exited_ns: int | None = None
    cleared_ns: int = 0
    """From when on the runtime tells of its exit."""
    removed_ns: int | None = None
    exit_code: int = 0
    life: int = 0
    """The journal's number of what it runs."""
    killed: bool = False
    hook_fails: bool = False
    """Whether its postStart hook fails."""
    out_of_memory: bool = False
    exit_seen_ns: int | None = None
    """When the kubelet saw the exit."""
    seen: InstanceState = InstanceState.NOT_YET
    """What the kubelet's pod cache says."""
    reported: InstanceState = InstanceState.NOT_YET
    """What a pod lifecycle event was made of."""

    @property
    def refused(self) -> bool:
        """Whether the runtime has refused to start it."""
        return self.started_ns is None and self.exited_ns is not None

    def state(self, at_ns: int) -> InstanceState:
        """Its state at that time, by the runtime."""
        if self.removed_ns is not None and self.removed_ns <= at_ns:
            return InstanceState.REMOVED
        if self.exited_ns is not None and max(self.exited_ns, self.cleared_ns) <= at_ns:
            return InstanceState.EXITED
        if self.started_ns is not None and self.started_ns <= at_ns:
            return InstanceState.RUNNING
        return InstanceState.CREATED if self.created_ns <= at_ns else InstanceState.NOT_YET


class InstanceView(NamedTuple):
    """An instance as a pod sync sees it: the state is the one of when the sync began."""

    instance: SimulatedInstance
    state: InstanceState


class PodView:
    """All instances of a pod as a sync sees them, newest first, and whether there was a sandbox when it began."""

    def __init__(self, instances: list[SimulatedInstance], *, has_sandbox: bool = True) -> None:
        self.has_sandbox = has_sandbox
        views = [
            InstanceView(each, each.seen)
            for each in reversed(instances)
            if InstanceState.NOT_YET < each.seen < InstanceState.REMOVED
        ]
        self._by_name: dict[str, list[InstanceView]] = {}
        for view in views:
            self._by_name.setdefault(view.instance.name, []).append(view)
        self.key = tuple(views)
        """Two views with the same key show the same."""

    def newest(self, name: str) -> InstanceView | None:
        views = self._by_name.get(name)
        return views[0] if views else None

    def of(self, name: str) -> list[InstanceView]:
        return self._by_name.get(name, [])

    def newest_exited(self, name: str) -> SimulatedInstance | None:
        """The instance that a backoff is measured from."""
        return next((view.instance for view in self.of(name) if view.state is InstanceState.EXITED), None)

    def by_start(self, containers: Iterable[Container]) -> list[Container]:
        """The containers, what was created last before the others."""
        created = {name: views[0].instance.created_ns for name, views in self._by_name.items()}
        return sorted(containers, key=lambda each: -created.get(each.name, 0))

    def running(self) -> list[SimulatedInstance]:
        return [views[0].instance for views in self._by_name.values() if views[0].state < InstanceState.EXITED]

    def __bool__(self) -> bool:
        return bool(self._by_name)
