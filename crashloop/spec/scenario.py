"""Scenarios: one pod or one kubelet start, with its needs, interventions and end of observation.

Tests declare scenarios; the recorder carries them out; checkers judge the recording. Everything is data.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import msgspec

from crashloop.spec.policy import RestartPolicy, RestartRule
from crashloop.spec.program import HOLDS, Program


class ContainerKind(StrEnum):
    """Where a container stands in the pod. An init container with restartPolicy Always is a sidecar."""

    REGULAR = "regular"
    INIT = "init"
    EPHEMERAL = "ephemeral"


class ProbeKind(StrEnum):
    """Probes whose failure kills the container."""

    LIVENESS = "liveness"
    STARTUP = "startup"


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """An exec probe that starts to fail `fails_after_s` seconds into each life and kills after `failure_threshold` failures."""

    kind: ProbeKind = ProbeKind.LIVENESS
    fails_after_s: float = 0.0
    period_s: int = 1
    failure_threshold: int = 3
    timeout_s: int = 1


class Container(msgspec.Struct, frozen=True, kw_only=True):
    """A container of a scenario's pod."""

    name: str = "app"
    kind: ContainerKind = ContainerKind.REGULAR
    program: Program = HOLDS
    restart_policy: RestartPolicy | None = None
    """Container restart policy; None leaves the decision to the pod's."""
    rules: tuple[RestartRule, ...] = ()
    probe: Probe | None = None
    exit_code_on_term: int = 143
    """Exit code when the kubelet kills the container with SIGTERM."""

    @property
    def is_sidecar(self) -> bool:
        return self.kind is ContainerKind.INIT and self.restart_policy is RestartPolicy.ALWAYS


class Pod(msgspec.Struct, frozen=True, kw_only=True):
    """The pod of a scenario. Container names are unique."""

    containers: tuple[Container, ...]
    """All containers; init containers in their order of start."""
    restart_policy: RestartPolicy = RestartPolicy.ALWAYS

    def __post_init__(self) -> None:
        names = [container.name for container in self.containers]
        if len(set(names)) != len(names):
            raise ValueError(f"container names are not unique: {names}")
        if not any(container.kind is ContainerKind.REGULAR for container in self.containers):
            raise ValueError("a pod needs at least one regular container")

    def of_kind(self, kind: ContainerKind) -> tuple[Container, ...]:
        return tuple(container for container in self.containers if container.kind is kind)

    def container(self, name: str) -> Container:
        """The container of that name. Raises KeyError."""
        for container in self.containers:
            if container.name == name:
                return container
        raise KeyError(name)


class Mode(StrEnum):
    """How the kubelet is made to look at the pod; never mixed in one scenario (kubelet-semantics: requeue)."""

    NATURAL = "natural"
    """Nothing touches the pod: what users get, requeue jitter included."""
    ANNOTATED = "annotated"
    """An annotation is patched every second, so each delay shows the due delay itself to within a second."""


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
    RESTART_KUBELET = "restart-kubelet"
    KILL_KUBELET = "kill-kubelet"
    RESTART_RUNTIME = "restart-runtime"


class Intervention(msgspec.Struct, frozen=True, kw_only=True):
    """One action at one trigger. `arguments` are the action's own (for resize: {"container": ..., "cpu": "60m"})."""

    trigger: Trigger
    action: InterventionKind
    arguments: dict[str, Any] = {}


class Until(msgspec.Struct, frozen=True, kw_only=True):
    """When a scenario's evidence is complete.

    Complete means: every container named in `restarts` was seen to restart that often, every one in `exits` to exit
    that often, the phase was seen, `at_least_s` seconds have passed since the pod was created, and `quiet_s` more
    seconds were watched after all that, to see that nothing follows.
    `at_most_s` ends the watch in any case; what is missing then is for the checkers to weigh.
    """

    restarts: dict[str, int] = {}
    exits: dict[str, int] = {}
    phase: str | None = None
    at_least_s: float = 0.0
    quiet_s: float = 0.0
    at_most_s: float = 90.0


class PodScenario(msgspec.Struct, frozen=True, kw_only=True, tag="pod"):
    """One pod on one node with a kubelet profile."""

    name: str
    """Unique in a plan; lower-case letters, digits and dashes; becomes the pod's name."""
    profile: str
    """Name of the kubelet profile of the node."""
    pod: Pod
    until: Until
    mode: Mode = Mode.NATURAL
    interventions: tuple[Intervention, ...] = ()

    @property
    def disturbs_node(self) -> bool:
        """Whether the scenario needs a node of its own."""
        return any(
            each.action
            in (InterventionKind.RESTART_KUBELET, InterventionKind.KILL_KUBELET, InterventionKind.RESTART_RUNTIME)
            for each in self.interventions
        )


class StartupScenario(msgspec.Struct, frozen=True, kw_only=True, tag="startup"):
    """A second kubelet process, started inside the node of `profile` with the configuration of `candidate`.

    Evidence: whether it exited, with which status and text, or became healthy, within `at_most_s` seconds.
    """

    name: str
    profile: str
    candidate: str
    """Name of the kubelet profile that is tried."""
    at_most_s: float = 30.0


Scenario = PodScenario | StartupScenario


def profiles_of(scenarios: tuple[Scenario, ...]) -> Iterator[str]:
    """Names of the profiles that need a node, each once, in order of first use."""
    yield from dict.fromkeys(scenario.profile for scenario in scenarios)
