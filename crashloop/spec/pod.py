"""The pod of a scenario: its containers, with their programs, restart policies, restart rules and probes. Pure data.

Restart policies and rules are in the words of the Kubernetes API (core/v1). A probe says how the kubelet
asks, and what is answered.
"""

import re
from enum import StrEnum
from math import inf

import msgspec

from crashloop.spec.dependency import RegistryImage, Variable
from crashloop.spec.program import HOLDS, TERMINATED, LifeEnd, Program

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A name as of a container, a namespace or a node that is made here (RFC 1123)."""
LABEL_KEY = re.compile(r"([a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?", re.ASCII)
"""Also that of a taint (k8s.io/apimachinery/pkg/util/validation IsQualifiedName)."""
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?)?", re.ASCII)


class RestartPolicy(StrEnum):
    """`restartPolicy` of a pod or of a container."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"


class Operator(StrEnum):
    """`restartPolicyRules[].exitCodes.operator`."""

    IN = "In"
    NOT_IN = "NotIn"


class Action(StrEnum):
    """`restartPolicyRules[].action`; RestartAllContainers needs the gate RestartAllContainersOnContainerExits."""

    RESTART = "Restart"
    RESTART_ALL_CONTAINERS = "RestartAllContainers"


class RestartRule(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `restartPolicyRules` (KEP-5307; the action RestartAllContainers: KEP-5532)."""

    action: Action = Action.RESTART
    operator: Operator
    values: tuple[int, ...]

    def matches(self, exit_code: int) -> bool:
        """Whether the exit-code condition holds. An empty In never does, an empty NotIn always does."""
        return (exit_code in self.values) == (self.operator is Operator.IN)


def restart_in(*values: int, action: Action = Action.RESTART) -> RestartRule:
    """A rule that acts on the exit codes given."""
    return RestartRule(action=action, operator=Operator.IN, values=values)


def restart_not_in(*values: int, action: Action = Action.RESTART) -> RestartRule:
    """A rule that acts on every exit code but those given."""
    return RestartRule(action=action, operator=Operator.NOT_IN, values=values)


class ProbeKind(StrEnum):
    """What a probe decides. The failure of a readiness probe kills nothing."""

    LIVENESS = "liveness"
    READINESS = "readiness"
    STARTUP = "startup"


class Handler(StrEnum):
    """How the kubelet asks."""

    EXEC = "exec"
    """A command in the container."""
    HTTP = "http"
    """A request to a server in the container; any code from 400 on is a failure."""


SUCCEEDS, FAILS = "S", "F"


_ANSWERS = 100
"""So many answers of a life are looked at; a watch has fewer."""


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """A probe whose answers are planned: by a pattern, or from a moment of each life on failures."""

    kind: ProbeKind = ProbeKind.LIVENESS
    handler: Handler = Handler.EXEC
    fails_after_s: float = 0.0
    """From so many seconds into each life on it fails. Without meaning beside a pattern."""
    pattern: str = ""
    """The answers of each life in turn, S or F, over and over again; empty: `fails_after_s` decides."""
    answers_after_s: float = 0.0
    """Seconds that each answer takes."""
    hangs: bool = False
    """It gives no answer at all instead of a failure."""
    initial_delay_s: int = 0
    """Seconds from the start of each life before the kubelet asks."""
    period_s: int = 1
    failure_threshold: int = 3
    success_threshold: int = 1
    """Successes in a row after which a readiness probe has succeeded; of the others it is 1."""
    timeout_s: int = 1
    grace_s: int | None = None
    """Its own terminationGracePeriodSeconds; None: a container that it has killed has that of the pod."""

    def __post_init__(self) -> None:
        if set(self.pattern) - {SUCCEEDS, FAILS}:
            raise ValueError(f"probe pattern {self.pattern!r}: expected {SUCCEEDS} and {FAILS} only")
        if 0 < len(self.pattern) < self.failure_threshold:
            raise ValueError(
                f"probe pattern {self.pattern!r} is shorter than the failureThreshold of {self.failure_threshold}"
            )
        if self.pattern and self.fails_after_s:
            raise ValueError(
                f"a probe fails by its pattern {self.pattern!r} or after {self.fails_after_s:g} s, not both"
            )
        if self.initial_delay_s < 0:
            raise ValueError(f"{self}: initial_delay_s is at least 0")
        if self.success_threshold < 1 or (self.success_threshold > 1 and self.kind is not ProbeKind.READINESS):
            raise ValueError(f"{self}: success_threshold is 1, or more of a readiness probe")
        if self.grace_s is not None and (self.grace_s < 1 or self.kind is ProbeKind.READINESS):
            raise ValueError(f"{self}: grace_s is at least 1, and none of a readiness probe")
        if min(self.period_s, self.failure_threshold, self.timeout_s) < 1 or self.answers_after_s < 0:
            raise ValueError(f"{self}: period_s, failure_threshold and timeout_s are at least 1")

    @property
    def is_late(self) -> bool:
        """Whether every answer comes after the kubelet has stopped waiting, and so counts as a failure."""
        return self.answers_after_s > self.timeout_s

    def answer(self, number: int, at_s: float) -> str:
        """What it answers the time `number` (from 0) in a life, `at_s` seconds after its start: S or F."""
        if self.pattern:
            return self.pattern[number % len(self.pattern)]
        return FAILS if at_s >= self.fails_after_s else SUCCEEDS

    def counts_as_failure(self, answer: str) -> bool:
        """Whether the kubelet takes that answer for a failure."""
        return answer == FAILS or self.is_late

    def kills_after_s(self, first: bool = True) -> float:
        """How long a life lasts at least before failures in a row can end it; after the first one, those before may count."""
        needed, failures = self.failure_threshold if first else 1, 0
        for number in range(_ANSWERS):
            at_s = self.initial_delay_s + number * self.period_s
            failures = failures + 1 if self.counts_as_failure(self.answer(number, at_s)) else 0
            if failures == needed:
                return float(at_s)
        return inf

    def answering_s(self, answer: str) -> float:
        """How long the kubelet waits for that answer."""
        return float(self.timeout_s) if answer == FAILS and self.hangs else min(self.answers_after_s, self.timeout_s)


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
    pre_stop_s: int = 0
    """Seconds that its preStop hook takes; 0: it has none."""
    restarts_on_resize: bool = False
    """Whether an in-place resize of its CPU restarts it (resizePolicy RestartContainer)."""

    def __post_init__(self) -> None:
        kinds = [each.kind for each in self.probes]
        if len(set(kinds)) != len(kinds):
            raise ValueError(f"container {self.name!r} has two probes of a kind: {', '.join(kinds)}")
        if self.memory_limit is None and any(life.end is LifeEnd.MEMORY for life in self.program.lives):
            raise ValueError(f"container {self.name!r} is to die of its memory and has no memory_limit")

        if self.program.is_refused and (self.probes or self.post_start):
            raise ValueError(f"container {self.name!r} never runs, and has no probe and no hook")

        by_hook = [life for life in self.program.lives if life.end is LifeEnd.HOOK]
        if by_hook and not (self.post_start and {life.exit_code for life in by_hook} == {self.exit_code_on_term}):
            raise ValueError(f"container {self.name!r}: lives that its hook ends need post_start and exit_code_on_term")

    @property
    def killing_probes(self) -> tuple[Probe, ...]:
        """The probes whose failure kills it."""
        return tuple(each for each in self.probes if each.kind is not ProbeKind.READINESS)

    def probe(self, kind: ProbeKind) -> Probe | None:
        """Its probe of one kind; None without one."""
        return next((each for each in self.probes if each.kind is kind), None)

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
    host_port: int | None = None
    """A port of the node that its first regular container claims: a node runs one such pod at a time. None: it claims none."""

    def __post_init__(self) -> None:
        if self.qos is not QosClass.BURSTABLE and any(each.memory_limit is not None for each in self.containers):
            raise ValueError(f"a pod that is {self.qos} has containers with a memory_limit, which make it Burstable")
        names = [container.name for container in self.containers]
        if len(set(names)) != len(names):
            raise ValueError(f"container names are not unique: {names}")
        if not any(container.kind is ContainerKind.REGULAR for container in self.containers):
            raise ValueError("a pod needs at least one regular container")

    @property
    def restarts_all(self) -> bool:
        """Whether a rule can restart all its containers."""
        return any(rule.action is Action.RESTART_ALL_CONTAINERS for each in self.containers for rule in each.rules)

    def graces_s(self, container: Container) -> tuple[int, ...]:
        """The grace periods that a kill of a container may have: the pod's, and those that its probes have of their own."""
        own_s = (each.grace_s for each in container.killing_probes if each.grace_s is not None)
        return (self.grace_s, *own_s)

    def of_kind(self, kind: ContainerKind) -> tuple[Container, ...]:
        return tuple(container for container in self.containers if container.kind is kind)

    def container(self, name: str) -> Container:
        """The container of that name. Raises KeyError."""
        for container in self.containers:
            if container.name == name:
                return container
        raise KeyError(name)


def cores(quantity: str) -> float:
    """CPUs of a quantity: `4`, or `3920m` in thousandths."""
    return float(quantity.removesuffix("m")) / (1000 if quantity.endswith("m") else 1)


_MARGIN_S = 1.0
"""The kubelet's ticker and the time of a start may make the first probe of a life come so much sooner."""


class KillingProbe(msgspec.Struct, frozen=True, rename="camel"):
    """A liveness or startup probe, with the defaults of core/v1, which are also those of a 0 (pkg/apis/core/v1/defaults.go)."""

    initial_delay_seconds: int = 0
    period_seconds: int = 0
    failure_threshold: int = 0

    @property
    def kills_after_s(self) -> float:
        """How long a life lasts at least before this probe has failed often enough (pkg/kubelet/prober/worker.go@v1.37.1)."""
        failures_s = ((self.failure_threshold or 3) - 1) * (self.period_seconds or 10)
        return max(0.0, self.initial_delay_seconds + failures_s - _MARGIN_S)


def killed_after_s(*probes: KillingProbe | None) -> float | None:
    """The soonest of some probes; None without any."""
    return min((each.kills_after_s for each in probes if each is not None), default=None)
