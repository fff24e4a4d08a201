"""Crash loops: the waits between exit and start of containers, assembled from the restarts in successive pod statuses.

Regular containers and sidecars count, without restarts that need not wait for the curve: a failing liveness or startup
probe kills and restarts in one sync (kuberuntime_manager.go@v1.37.1 SyncPod), so a life counts only if it was too short for
any probe of its container; RestartAllContainers (KEP-5532) removes the exited containers that delays are counted from.

Theory of operation. A status with a current and a previous instance gives one wait: previous.finishedAt to
current.startedAt, both in whole seconds by the node's clock. So the true wait differs from the difference by less than a
second, and reaches a due delay of whole seconds if the difference does. Waits of one container are numbered by
restartCount; consecutive waits form a chain, along which the counter doubles. Beside them stands the delay that the kubelet
states while a container waits (kuberuntime_manager.go@v1.37.1 doBackOff).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from crashloop.history.payload import PodStatusData
from crashloop.history.statuses import FAILED_STARTS, ContainerReport, ContainerState, report_of
from crashloop.model.pod_status import WAITING_REASON
from crashloop.spec.duration import stated_backoff_s
from crashloop.spec.pod import KillingProbe, killed_after_s


class LeftOut(StrEnum):
    """Why restarted containers are no evidence, one or more of them."""

    PROBE = "perhaps killed by a probe"
    RESTARTS_ALL = "in a pod with a rule RestartAllContainers"
    INIT = "of the kind init"


class StatedInstance(msgspec.Struct, frozen=True):
    """A running or terminated instance; times are whole seconds since the epoch by the node's clock."""

    started_s: int
    finished_s: int | None = None
    """None while it runs."""


class ContainerStatement(msgspec.Struct, frozen=True):
    """The status of one container."""

    name: str
    restart_count: int
    present: StatedInstance | None
    """None while it waits."""
    previous: StatedInstance | None
    key: str
    """Changes with image and resources: a change of either resets the kubelet's counter on a running pod."""
    start_failed: bool
    """It waits for something other than the backoff, or its start failed: failed attempts double the delay as well."""
    backs_off: bool = False
    """It waits in CrashLoopBackOff."""
    stated_s: float | None = None
    """The delay that the kubelet states while it waits."""
    killed_after_s: float | None = None
    """How long a life lasts at least before a probe can have ended it; None without such a probe."""
    left_out: LeftOut | None = None


class PodStatement(msgspec.Struct, frozen=True, kw_only=True):
    """The status of a pod."""

    namespace: str
    name: str
    uid: str
    node: str
    containers: tuple[ContainerStatement, ...]


class _Rule(msgspec.Struct, frozen=True):
    action: str = ""


class _ContainerSpec(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    image: str = ""
    resources: Any = None
    restart_policy: str | None = None
    liveness_probe: KillingProbe | None = None
    startup_probe: KillingProbe | None = None
    restart_policy_rules: tuple[_Rule, ...] | None = None

    @property
    def restarts_all(self) -> bool:
        return any(rule.action == "RestartAllContainers" for rule in self.restart_policy_rules or ())


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""
    containers: tuple[_ContainerSpec, ...] = ()
    init_containers: tuple[_ContainerSpec, ...] | None = None


_WAITS_AS_DUE = frozenset({"", WAITING_REASON, "ContainerCreating", "PodInitializing"})

_spec, _status = msgspec.json.Decoder(_Spec), msgspec.json.Decoder(PodStatusData)


def statement(namespace: str, name: str, uid: str, spec: bytes, status: bytes) -> PodStatement:
    """Read `spec` and `status` of a pod as the API server sent them. Raises msgspec.MsgspecError if they are none."""
    declared, said = _spec.decode(spec), _status.decode(status)
    inits = declared.init_containers or ()
    restarts_all = any(each.restarts_all for each in (*declared.containers, *inits))
    specs = {each.name: each for each in (*inits, *declared.containers)}
    once = {each.name for each in inits if each.restart_policy != "Always"}
    try:
        reported = report_of(0, 0, said).containers
    except ValueError:
        reported = {}  # no API server sends such a time
    names = [each.name for each in (*(said.init_container_statuses or ()), *(said.container_statuses or ()))]
    others = LeftOut.RESTARTS_ALL if restarts_all else None
    return PodStatement(
        namespace=namespace,
        name=name,
        uid=uid,
        node=declared.node_name,
        containers=tuple(
            _container(specs.get(name, _ContainerSpec(name)), reported[name], LeftOut.INIT if name in once else others)
            for name in names
            if name in reported
        ),
    )


def _container(spec: _ContainerSpec, said: ContainerReport, left_out: LeftOut | None) -> ContainerStatement:
    state, waits = said.state, said.state.kind == "waiting"
    backs_off = waits and state.reason == WAITING_REASON
    return ContainerStatement(
        name=spec.name,
        restart_count=said.restart_count,
        present=_instance(state),
        previous=_instance(said.last_state or ContainerState()),
        key=f"{spec.image} {spec.resources}",
        start_failed=state.reason not in _WAITS_AS_DUE if waits else state.reason in FAILED_STARTS,
        backs_off=backs_off,
        stated_s=stated_backoff_s(state.message) if backs_off else None,
        killed_after_s=killed_after_s(spec.liveness_probe, spec.startup_probe),
        left_out=left_out,
    )


def _instance(state: ContainerState) -> StatedInstance | None:
    """None without a start: an instance whose start failed is stamped with the epoch."""
    started_s, finished_s = ((ns or 0) // 1_000_000_000 for ns in (state.started_ns, state.finished_ns))
    if started_s <= 0 or (state.kind == "terminated" and finished_s <= 0):
        return None
    return StatedInstance(started_s, finished_s if state.kind == "terminated" else None)


FREE_S = 8
"""A free restart, which a probe that killed after ten minutes leaves behind, takes no longer (model/lateness.py)."""
FORGETS_S = 590
"""A run and a wait of almost 600 s together may reset the counter (kubelet-wide: lastUpdate plus 10 minutes)."""


class Wait(msgspec.Struct, frozen=True):
    """From the exit of an instance to the start of the next, by the container's statuses."""

    restart: int
    """The restartCount that it ended with."""
    seconds: int
    """startedAt minus finishedAt: the true wait differs by less than one second."""
    ran_s: int
    """How long the instance before had run."""
    started_s: int
    """When it ended, seconds since the epoch by the node's clock."""
    seen_whole: bool
    """It began during the observation, so that nothing unobserved can have cut it short."""
    disturbed: bool = False
    """A start attempt failed or the container was changed: its length is no evidence."""

    @property
    def may_forget(self) -> bool:
        """Whether the kubelet may have lost the counter before it ended."""
        return self.disturbed or self.ran_s + self.seconds >= FORGETS_S


class StatedDelay(msgspec.Struct, frozen=True):
    """The delay that a kubelet stated while a container waited."""

    restart: int
    """The restartCount that the wait ends with."""
    seconds: float


class CrashLoop(msgspec.Struct, frozen=True, kw_only=True):
    """The observed waits of one restarting container."""

    namespace: str
    pod: str
    container: str
    node: str
    waits: tuple[Wait, ...]
    """In the order of the restarts."""
    stated: tuple[StatedDelay, ...] = ()
    """By the kubelet's messages; the same."""

    @property
    def name(self) -> str:
        """Its name in findings."""
        return f"{self.namespace}/{self.pod} {self.container}"

    @property
    def chains(self) -> Iterator[tuple[Wait, ...]]:
        """Consecutive waits."""
        chain: list[Wait] = []
        for wait in self.waits:
            if chain and wait.restart != chain[-1].restart + 1:
                yield tuple(chain)
                chain = []
            chain.append(wait)
        if chain:
            yield tuple(chain)


class CrashLoops:
    """All crash loops of a cluster, from the statements about its pods."""

    def __init__(self, *, since_s: float) -> None:
        """`since_s`: start of the observation, in seconds since the epoch."""
        self._since_s = since_s
        self._containers: dict[tuple[str, str], _LoopingContainer] = {}

    @property
    def left_out(self) -> Mapping[LeftOut, int]:
        """Restarted containers that were not used, by the reason."""
        return Counter(each.left_out for each in self._containers.values() if each.left_out is not None)

    @property
    def restarting(self) -> int:
        """All restarted containers."""
        return len(self._containers)

    @property
    def waiting(self) -> int:
        """Those that wait in CrashLoopBackOff now."""
        return sum(each.waits_now for each in self._containers.values())

    def take(self, pod: PodStatement) -> None:
        """Add the status of a pod; a repeated status adds nothing."""
        for said in pod.containers if pod.node else ():
            if said.restart_count > 0 or said.backs_off:
                key = (pod.uid, said.name)
                container = self._containers.get(key)
                if container is None:
                    container = self._containers[key] = _LoopingContainer(pod)
                container.take(said, since_s=self._since_s)

    def by_node(self) -> dict[str, tuple[CrashLoop, ...]]:
        """The loops with an observed wait or a stated delay, by node, in alphabetical order."""
        seen = [each.seen(name) for (_, name), each in self._containers.items() if each.is_evidence]
        found: dict[str, list[CrashLoop]] = {}
        for loop in sorted(seen, key=lambda each: (each.node, each.name)):
            found.setdefault(loop.node, []).append(loop)
        return {node: tuple(loops) for node, loops in found.items()}


class _LoopingContainer:
    """The statuses of one container so far."""

    def __init__(self, pod: PodStatement) -> None:
        self._namespace, self._pod, self._node = pod.namespace, pod.name, pod.node
        self._waits: dict[int, Wait] = {}
        self._stated: dict[int, StatedDelay] = {}
        self._killed: set[int] = set()
        """Restarts that a probe may have caused."""
        self._left_out: LeftOut | None = None
        self._key: str | None = None
        self._disturbed = False
        self.waits_now = False

    @property
    def is_evidence(self) -> bool:
        return self._left_out is None and bool(self._stated or self._waits.keys() - self._killed)

    @property
    def left_out(self) -> LeftOut | None:
        return LeftOut.PROBE if self._left_out is None and self._killed and not self.is_evidence else self._left_out

    def seen(self, name: str) -> CrashLoop:
        waits = tuple(self._waits[restart] for restart in sorted(self._waits))
        stated = tuple(self._stated[restart] for restart in sorted(self._stated))
        return CrashLoop(
            namespace=self._namespace, pod=self._pod, container=name, node=self._node, waits=waits, stated=stated
        )

    def take(self, said: ContainerStatement, *, since_s: float) -> None:
        self._left_out, self.waits_now = said.left_out, said.backs_off
        if said.start_failed or (self._key is not None and said.key != self._key):
            self._disturbed = True
        self._key = said.key
        if said.stated_s is not None:
            following = said.restart_count + 1
            self._stated[following] = StatedDelay(restart=following, seconds=said.stated_s)
        present, previous = said.present, said.previous
        if present is None or previous is None or previous.finished_s is None or said.restart_count in self._waits:
            return
        seconds = present.started_s - previous.finished_s
        if seconds < 0:
            return
        ran_s = max(previous.finished_s - previous.started_s, 0)
        self._waits[said.restart_count] = Wait(
            restart=said.restart_count,
            seconds=seconds,
            ran_s=ran_s,
            started_s=present.started_s,
            seen_whole=previous.finished_s >= since_s,
            disturbed=self._disturbed or self._may_be_of_a_probe(said, ran_s, seconds),
        )
        self._disturbed = False

    def _may_be_of_a_probe(self, said: ContainerStatement, ran_s: int, seconds: int) -> bool:
        """Whether a probe may have killed the life before a wait, or the one before that, and so have left a free restart."""
        if said.killed_after_s is None:
            return False
        if ran_s + 1 > said.killed_after_s:  # both times were rounded down
            self._killed.add(said.restart_count)
            return True
        before = said.restart_count - 1
        return (before not in self._waits or before in self._killed) and seconds <= FREE_S
