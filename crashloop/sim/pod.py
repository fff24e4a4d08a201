"""A pod of the simulated cluster: the manifest, its instances, and their state in the pod cache."""

from collections.abc import Callable
from datetime import UTC, datetime
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

import msgspec

from crashloop.sim.behaviour import S
from crashloop.sim.loop import ignore
from crashloop.sim.recorder import Tape
from crashloop.spec.dependency import ConfigObject
from crashloop.spec.pod import Container, ContainerKind, Pod
from crashloop.spec.program import Life

IMAGE = "crashloop/workload:1"
RESOURCES = "cpu=10m"
AIM_STEP_MS, AIMED_WITHIN_S = 10, 0.5
"""Of programs that aim at a look of the kubelet."""


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

    def state(self, at_ns: int) -> InstanceState:
        """Its true state at that time."""
        if self.removed_ns is not None and self.removed_ns <= at_ns:
            return InstanceState.REMOVED
        if self.exited_ns is not None and self.exited_ns <= at_ns:
            return InstanceState.EXITED
        if self.started_ns is not None and self.started_ns <= at_ns:
            return InstanceState.RUNNING
        return InstanceState.CREATED if self.created_ns <= at_ns else InstanceState.NOT_YET


class InstanceView(NamedTuple):
    """An instance as a pod sync sees it: the state is the one of when the sync began."""

    instance: SimulatedInstance
    state: InstanceState


class PodView:
    """All instances of a pod as a sync sees them, newest first."""

    def __init__(self, instances: list[SimulatedInstance]) -> None:
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

    def running(self) -> list[SimulatedInstance]:
        return [views[0].instance for views in self._by_name.values() if views[0].state < InstanceState.EXITED]

    def __bool__(self) -> bool:
        return bool(self._by_name)


class SimPod:
    """A pod object with its uid and everything the runtime holds for it."""

    def __init__(
        self, name: str, uid: str, spec: Pod, created_ns: int, tape: Tape, objects: tuple[ConfigObject, ...] = ()
    ) -> None:
        self.name = name
        self.uid = uid
        self.spec = spec
        self.created_ns = created_ns
        self.taken_ns = created_ns
        """When its kubelet took it: startTime."""
        self.tape = tape
        """On which the recorder writes what happens to it."""
        self.on_exit: Callable[[SimulatedInstance], None] = ignore
        """Called after the kubelet when an instance exited."""
        self.inits = spec.of_kind(ContainerKind.INIT)
        self.regulars = spec.of_kind(ContainerKind.REGULAR)
        self.ephemerals = spec.of_kind(ContainerKind.EPHEMERAL)
        self.instances: list[SimulatedInstance] = []
        """Those the runtime still holds, in order of creation."""
        self.logs: dict[str, set[int]] = {}
        """The numbers of the log files on the node, by container."""
        self.exit_codes: dict[str, int] = {}
        """The last exit code, by container."""
        self.last_words: dict[str, tuple[str, ...]] = {}
        """What the instances have left in their termination logs, by container."""
        self.exited_ns: dict[str, int] = {}
        """The last exit, by container."""
        self.made: dict[str, int] = {}
        """Instances created so far, by container."""
        self.numbers: dict[str, int] = {}
        """The restartCount of the newest instance, by container."""
        self.lives: dict[str, int] = {}
        """Lives begun so far, by container: the journal's count."""
        self.images = {container.name: IMAGE for container in spec.containers}
        self.offers = {each.name: each.image.version for each in spec.containers if each.image is not None}
        """The image version that the registry has for a container; None: none."""
        self.present: dict[str, set[int]] = {}
        """The versions that the node has, by container."""
        self.pulled: dict[str, int] = {}
        """The version that the next instance runs in, by container."""
        self.pull_errors: dict[str, str] = {}
        """Why a container has no image, as the kubelet states it."""
        self.resources = {container.name: RESOURCES for container in spec.containers}
        self.index = 0
        """Its number among the pods of a Job."""
        self.is_static = False
        """Whether it comes from a file of its node."""
        self.reruns: set[str] = set()
        """Containers that a faulty kubelet is to run again though they are done."""
        self.repeated: set[str] = set()
        """Containers that were started again after an exit with 0."""
        self.was_reset = False
        """Whether RestartAllContainers has removed its containers."""
        self.objects = {each.name: each for each in objects}
        self.config: dict[str, dict[str, str] | None] = {
            each.name: each.data if each.present else None for each in objects
        }
        """What its objects hold as the kubelet knows it, by name; None: it is not there."""
        self.is_mounted = False
        """Whether its volumes have been mounted."""
        self.sandbox_id: str | None = None
        self.sandboxes = 0
        self.marked_volume: set[str] = set()
        """Containers that have left their mark in the volume in memory."""
        self.marked_roots: set[str] = set()
        """Root filesystems that a life has left its mark in, by the id of the container that they were made for."""
        self._first_ns: dict[str, int] = {}
        self._aims_ms: dict[str, int] = {}
        self._programs = {container.name: container.program.each_life() for container in spec.containers}

    @property
    def stem(self) -> str:
        """How the kubelet names it in messages."""
        return f"{self.name}_default({self.uid})"

    def next_life(self, container: Container, now_ns: int) -> tuple[int, Life | None]:
        """The number of the life that begins now, and what it does; None: it runs until it is killed."""
        number = self.lives.get(container.name, 0)
        self.lives[container.name] = number + 1
        lives = self._programs[container.name]
        until_s = container.program.fails_until_s
        if until_s is not None and now_ns - self._first_ns.setdefault(container.name, now_ns) >= until_s * 1e9:
            return number, None
        planned = number + self.skipped(container)
        return number, lives[planned] if planned < len(lives) else None

    def skipped(self, container: Container) -> int:
        """How many lives of a program it leaves out: the first pod of a Job none."""
        return container.program.exits - 1 if container.program.first_pod_only and self.index else 0

    def aim_ms(self, container: Container, now_ns: int) -> int:
        """How long after its creation the life that begins now ends (Program.aims_at_s)."""
        name, program = container.name, container.program
        aim_ms = self._aims_ms.get(name)
        if aim_ms is None or program.aims_at_s is None:
            aim_ms = round(program.lives[0].run_s * 1000)
        else:
            soon = now_ns - self.exited_ns[name] < (program.aims_at_s + AIMED_WITHIN_S) * 1e9
            aim_ms += AIM_STEP_MS if soon else -AIM_STEP_MS
        self._aims_ms[name] = aim_ms
        return aim_ms

    def alive(self) -> list[SimulatedInstance]:
        """Instances that have not exited."""
        return [each for each in self.instances if each.exited_ns is None]


def stamp(t_ns: int | None, offset_s: int = 0) -> str | None:
    """A time as the API writes it, in whole seconds."""
    return None if t_ns is None else _written(t_ns // S + offset_s)


@lru_cache
def _written(t_s: int) -> str:
    return datetime.fromtimestamp(t_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
