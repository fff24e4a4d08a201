"""The pod of a scenario: its containers, with their programs, policies, rules and probes. Pure data."""

from enum import StrEnum

import msgspec

from crashloop.spec.config_object import Variable
from crashloop.spec.policy import Action, RestartPolicy, RestartRule
from crashloop.spec.probe import Handler, Probe, ProbeKind
from crashloop.spec.program import HOLDS, TERMINATED, LifeEnd, Program
from crashloop.spec.registry_image import RegistryImage

GRACE_PERIOD_S = 2
"""terminationGracePeriodSeconds of a pod, unless it has another."""


class ContainerKind(StrEnum):
    """Where a container stands in the pod. An init container with restartPolicy Always is a sidecar."""

    REGULAR = "regular"
    INIT = "init"
    EPHEMERAL = "ephemeral"


class QosClass(StrEnum):
    """What the containers of a pod ask for and may have, by the name that Kubernetes gives it (core/v1 PodQOSClass)."""

    BURSTABLE = "Burstable"
    """They ask for a little, and have no limit but a memory_limit."""
    GUARANTEED = "Guaranteed"
    """They may have what they ask for, and no more."""
    BEST_EFFORT = "BestEffort"
    """They ask for nothing."""


class Container(msgspec.Struct, frozen=True, kw_only=True):
    """A container of a scenario's pod."""

    name: str = "app"
    kind: ContainerKind = ContainerKind.REGULAR
    program: Program = HOLDS
    restart_policy: RestartPolicy | None = None
    """Container restart policy; None leaves the decision to the pod's."""
    rules: tuple[RestartRule, ...] = ()
    probes: tuple[Probe, ...] = ()
    """At most one of each kind."""
    exit_code_on_term: int = TERMINATED
    """Exit code when the kubelet kills the container with SIGTERM; 137: it ignores SIGTERM, until SIGKILL."""
    killed_after_s: float | None = None
    """Of a user's own container, how long a life lasts at least before a probe or a hook can have ended it; None: nothing can."""
    memory_limit: str | None = None
    """Kubernetes quantity, such as 32Mi."""
    env: tuple[Variable, ...] = ()
    """Environment from ConfigMaps and Secrets."""
    image: RegistryImage | None = None
    """Its image in the run's registry; None: that of all programs, which nodes have."""
    folders: tuple[str, ...] = ()
    """Objects of the scenario that are mounted as folders: its pod starts when all of them are there."""
    post_start: bool = False
    """Whether it has a postStart hook, which notes each of its runs in the journal; it fails in lives that it is to end."""
    restarts_on_resize: bool = False
    """Whether an in-place resize of its CPU restarts it (resizePolicy RestartContainer)."""

    def __post_init__(self) -> None:
        kinds = [each.kind for each in self.probes]
        if len(set(kinds)) != len(kinds):
            raise ValueError(f"container {self.name!r} has two probes of a kind: {', '.join(kinds)}")
        if self.memory_limit is None and any(life.end is LifeEnd.MEMORY for life in self.program.lives):
            raise ValueError(f"container {self.name!r} is to die of its memory and has no memory_limit")

        by_hook = [life for life in self.program.lives if life.end is LifeEnd.HOOK]
        if by_hook and not (self.post_start and {life.exit_code for life in by_hook} == {self.exit_code_on_term}):
            raise ValueError(f"container {self.name!r}: lives that its hook ends need post_start and exit_code_on_term")

    @property
    def killing_probes(self) -> tuple[Probe, ...]:
        """The probes whose failure kills it."""
        return tuple(each for each in self.probes if each.kind is not ProbeKind.READINESS)

    @property
    def is_sidecar(self) -> bool:
        return self.kind is ContainerKind.INIT and self.restart_policy is RestartPolicy.ALWAYS


class Pod(msgspec.Struct, frozen=True, kw_only=True):
    """The pod of a scenario. Container names are unique."""

    containers: tuple[Container, ...]
    """All containers; init containers in their order of start."""
    restart_policy: RestartPolicy = RestartPolicy.ALWAYS
    active_deadline_s: int | None = None
    """Seconds after its start at which the kubelet ends it, whatever its policies say; None: never."""
    grace_s: int = GRACE_PERIOD_S
    """Seconds from SIGTERM to SIGKILL."""
    qos: QosClass = QosClass.BURSTABLE

    def __post_init__(self) -> None:
        if self.qos is not QosClass.BURSTABLE and any(each.memory_limit is not None for each in self.containers):
            raise ValueError(f"a pod that is {self.qos} has containers with a memory_limit, which make it Burstable")
        names = [container.name for container in self.containers]
        if len(set(names)) != len(names):
            raise ValueError(f"container names are not unique: {names}")
        if not any(container.kind is ContainerKind.REGULAR for container in self.containers):
            raise ValueError("a pod needs at least one regular container")
        serving = [each.name for each in self.containers if any(one.handler is Handler.HTTP for one in each.probes)]
        if len(serving) > 1:
            raise ValueError(f"containers share the port of a pod; more than one answers probes over HTTP: {serving}")

    @property
    def restarts_all(self) -> bool:
        """Whether a rule can restart all its containers."""
        return any(rule.action is Action.RESTART_ALL_CONTAINERS for each in self.containers for rule in each.rules)

    def of_kind(self, kind: ContainerKind) -> tuple[Container, ...]:
        return tuple(container for container in self.containers if container.kind is kind)

    def container(self, name: str) -> Container:
        """The container of that name. Raises KeyError."""
        for container in self.containers:
            if container.name == name:
                return container
        raise KeyError(name)
