"""First starts of regular containers behind init containers and sidecars, which a faulty kubelet postpones."""

from collections.abc import Callable

from crashloop.sim.behaviour import Behaviour
from crashloop.sim.environment import World
from crashloop.sim.pod import SimPod
from crashloop.spec.pod import Container, ContainerKind


class LateStarts:
    """What a pod's syncs leave to a later one; nothing with a right kubelet."""

    def __init__(self, world: World, behaviour: Behaviour, pod: SimPod, wake: Callable[[], None]) -> None:
        self._loop = world.loop
        self._late_ns = behaviour.starts_behind_init_late_ns if pod.inits else 0
        self._pod = pod
        self._wake = wake
        self._due_ns: int | None = None

    def due(self, starts: list[Container]) -> list[Container]:
        """The containers that are not postponed."""
        first = [each for each in starts if each.kind is ContainerKind.REGULAR and each.name not in self._pod.numbers]
        if not (self._late_ns and first):
            return starts
        if self._due_ns is None:
            self._due_ns = self._loop.now + self._late_ns
            self._loop.at(self._due_ns, self._wake)
        return starts if self._loop.now >= self._due_ns else [each for each in starts if each not in first]
