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
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from crashloop.history.statuses import FAILED_STARTS
from crashloop.model.pod_status import WAITING_REASON
from crashloop.spec.duration import stated_backoff_s
from crashloop.spec.killing_probe import KillingProbe, killed_after_s


class LeftOut(StrEnum):
    """Why a restarted container is no evidence."""

    PROBE = "a probe may have killed it"
    RESTARTS_ALL = "its pod has a rule RestartAllContainers"
    INIT = "it is an init container"


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


class _Terminated(msgspec.Struct, frozen=True, rename="camel"):
    reason: str | None = None
    started_at: str | None = None
    finished_at: str | None = None


class _Running(msgspec.Struct, frozen=True, rename="camel"):
    started_at: str | None = None


class _Waiting(msgspec.Struct, frozen=True):
    reason: str | None = None
    message: str | None = None


class _State(msgspec.Struct, frozen=True):
    waiting: _Waiting | None = None
    running: _Running | None = None
    terminated: _Terminated | None = None


class _ContainerStatus(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    restart_count: int = 0
    state: _State = _State()
    last_state: _State = _State()


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    container_statuses: tuple[_ContainerStatus, ...] | None = None
    init_container_statuses: tuple[_ContainerStatus, ...] | None = None


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


_WAITS_AS_DUE = frozenset({None, "", WAITING_REASON, "ContainerCreating", "PodInitializing"})

_spec, _status = msgspec.json.Decoder(_Spec), msgspec.json.Decoder(_Status)


def statement(namespace: str, name: str, uid: str, spec: bytes, status: bytes) -> PodStatement:
    """Read `spec` and `status` of a pod as the API server sent them. Raises msgspec.MsgspecError if they are none."""
    declared, reported = _spec.decode(spec), _status.decode(status)
    inits = declared.init_containers or ()
    restarts_all = any(each.restarts_all for each in (*declared.containers, *inits))
    specs = {each.name: each for each in (*inits, *declared.containers)}
    once = {each.name for each in inits if each.restart_policy != "Always"}
    statuses = (*(reported.init_container_statuses or ()), *(reported.container_statuses or ()))
    why = {
        each.name: LeftOut.INIT if each.name in once else LeftOut.RESTARTS_ALL if restarts_all else None
        for each in statuses
    }
    return PodStatement(
        namespace=namespace,
        name=name,
        uid=uid,
        node=declared.node_name,
        containers=tuple(
            _container(each, specs.get(each.name, _ContainerSpec(each.name)), why[each.name]) for each in statuses
        ),
    )


def _container(status: _ContainerStatus, spec: _ContainerSpec, left_out: LeftOut | None) -> ContainerStatement:
    waiting, ended = status.state.waiting, status.state.terminated
    backs_off = waiting is not None and waiting.reason == WAITING_REASON
    return ContainerStatement(
        name=status.name,
        restart_count=status.restart_count,
        present=_instance(status.state),
        previous=_instance(status.last_state),
        key=f"{spec.image} {spec.resources}",
        start_failed=(waiting is not None and waiting.reason not in _WAITS_AS_DUE)
        or (ended is not None and ended.reason in FAILED_STARTS),
        backs_off=backs_off,
        stated_s=stated_backoff_s(waiting.message) if waiting is not None and backs_off else None,
        killed_after_s=killed_after_s(spec.liveness_probe, spec.startup_probe),
        left_out=left_out,
    )


def _instance(state: _State) -> StatedInstance | None:
    """None without a start: an instance whose start failed is stamped with the epoch."""
    if state.running is not None:
        started_s = _seconds(state.running.started_at)
        return None if started_s is None else StatedInstance(started_s)
    if state.terminated is not None:
        started_s, finished_s = _seconds(state.terminated.started_at), _seconds(state.terminated.finished_at)
        return None if started_s is None or finished_s is None else StatedInstance(started_s, finished_s)
    return None


def _seconds(moment: str | None) -> int | None:
    if moment is None:
        return None
    try:
        seconds = int(datetime.fromisoformat(moment).timestamp())
    except ValueError:
        return None
    return seconds if seconds > 0 else None


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
