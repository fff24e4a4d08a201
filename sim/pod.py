"""A pod of the simulated cluster: its manifest, its objects, and everything the runtime holds for it."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

from crashloop.spec.dependency import ConfigObject
from crashloop.spec.pod import Container, ContainerKind, Pod
from crashloop.spec.program import Life
from sim.behaviour import S
from sim.host import ignore
from sim.instance import SimulatedInstance
from sim.recorder import Tape

IMAGE = "crashloop/workload:1"
RESOURCES = "cpu=10m"
AIM_STEP_MS, AIMED_WITHIN_S = 10, 0.5
"""Of programs that aim at a look of the kubelet."""


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
        self.forgotten: set[str] = set()
        """Containers of which the runtime forgot an instance that had ended."""
        self.purged: set[str] = set()
        """Init containers that were removed for another sandbox and have not started in it."""
        self.counted_anew: set[str] = set()
        """Those whose restarts were counted from 0 because of that."""
        self.unawaited = False
        """Whether a faulty kubelet waits for its init containers no more."""
        self.left: set[str] = set()
        """Containers that a faulty kubelet is not to run again."""
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
        self.awaits_volumes = False
        """Whether its worker waits for them."""
        self.sandbox_id: str | None = None
        self.sandboxes = 0
        self.marked_volume: set[str] = set()
        """Containers that have left their mark in the volume in memory."""
        self.marked_roots: set[str] = set()
        """Root filesystems that a life has left its mark in, by the id of the container that they were made for."""
        self._first_ns: dict[str, int] = {}
        self._aims_ms: dict[str, int] = {}
        self._programs = {container.name: container.program.each_life() for container in spec.containers}

    def is_among(self, which: str, container: Container) -> bool:
        """Whether a container is among those that a fault concerns."""
        return {
            "nothing": False,
            "everything": True,
            "sidecars": container.is_sidecar,
            "init containers": container.kind is ContainerKind.INIT and not container.is_sidecar,
            "probed": bool(container.killing_probes),
            "hooked": container.post_start,
            "changed": self.images[container.name] != IMAGE or self.resources[container.name] != RESOURCES,
            "static pods": self.is_static,
            "reset pods": self.was_reset,
        }[which]

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


def stamp(t_ns: int | None, offset_s: int | None = 0) -> str | None:
    """A time as the API writes it, in whole seconds; None if it is not known, or left out (an offset of None)."""
    return None if t_ns is None or offset_s is None else _written(t_ns // S + offset_s)


@lru_cache
def _written(t_s: int) -> str:
    return datetime.fromtimestamp(t_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
