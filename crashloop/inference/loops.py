"""Crash loops: the waits between exit and start of containers, assembled from the restarts in successive pod statuses.

Only regular containers count, without those whose restarts need not wait for the curve: a failing liveness or startup
probe kills and restarts in one sync (kuberuntime_manager.go@v1.37.1 SyncPod), and RestartAllContainers (KEP-5532)
removes the exited containers that delays are counted from.

Theory of operation. A status with a current and a previous instance gives one wait: previous.finishedAt to
current.startedAt, both in whole seconds by the node's clock. So the true wait differs from the difference by less than a
second, and reaches a due delay of whole seconds if the difference does. Waits of one container are numbered by
restartCount; consecutive waits form a chain, along which the counter doubles.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from crashloop.history.statuses import FAILED_STARTS


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


class PodStatement(msgspec.Struct, frozen=True, kw_only=True):
    """The status of a pod."""

    namespace: str
    name: str
    uid: str
    node: str
    containers: tuple[ContainerStatement, ...]
    left_out: int
    """Restarted containers that are no evidence."""


class _Terminated(msgspec.Struct, frozen=True, rename="camel"):
    reason: str | None = None
    started_at: str | None = None
    finished_at: str | None = None


class _Running(msgspec.Struct, frozen=True, rename="camel"):
    started_at: str | None = None


class _Waiting(msgspec.Struct, frozen=True):
    reason: str | None = None


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


class _Rule(msgspec.Struct, frozen=True):
    action: str = ""


class _ContainerSpec(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    image: str = ""
    resources: Any = None
    liveness_probe: Any = None
    startup_probe: Any = None
    restart_policy_rules: tuple[_Rule, ...] | None = None

    @property
    def restarts_all(self) -> bool:
        return any(rule.action == "RestartAllContainers" for rule in self.restart_policy_rules or ())


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""
    containers: tuple[_ContainerSpec, ...] = ()
    init_containers: tuple[_ContainerSpec, ...] | None = None


_WAITS_AS_DUE = frozenset({None, "", "CrashLoopBackOff", "ContainerCreating", "PodInitializing"})

_spec, _status = msgspec.json.Decoder(_Spec), msgspec.json.Decoder(_Status)


def statement(namespace: str, name: str, uid: str, spec: bytes, status: bytes) -> PodStatement:
    """Read `spec` and `status` of a pod as the API server sent them. Raises msgspec.MsgspecError if they are none."""
    declared, reported = _spec.decode(spec), _status.decode(status)
    restarts_all = any(each.restarts_all for each in (*declared.containers, *(declared.init_containers or ())))
    probed = {each.name for each in declared.containers if each.liveness_probe or each.startup_probe}
    keys = {each.name: f"{each.image} {each.resources}" for each in declared.containers}
    statuses = reported.container_statuses or ()
    usable = [each for each in statuses if not restarts_all and each.name not in probed]
    return PodStatement(
        namespace=namespace,
        name=name,
        uid=uid,
        node=declared.node_name,
        containers=tuple(_container(each, keys.get(each.name, "")) for each in usable),
        left_out=sum(each.restart_count > 0 for each in statuses) - sum(each.restart_count > 0 for each in usable),
    )


def _container(status: _ContainerStatus, key: str) -> ContainerStatement:
    waiting, ended = status.state.waiting, status.state.terminated
    return ContainerStatement(
        name=status.name,
        restart_count=status.restart_count,
        present=_instance(status.state),
        previous=_instance(status.last_state),
        key=key,
        start_failed=(waiting is not None and waiting.reason not in _WAITS_AS_DUE)
        or (ended is not None and ended.reason in FAILED_STARTS),
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


class CrashLoop(msgspec.Struct, frozen=True, kw_only=True):
    """The observed waits of one restarting container."""

    namespace: str
    pod: str
    container: str
    node: str
    waits: tuple[Wait, ...]
    """In the order of the restarts."""

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
        self._left_out: dict[str, int] = {}

    @property
    def left_out(self) -> int:
        """Restarted containers that were not used."""
        return sum(self._left_out.values())

    def take(self, pod: PodStatement) -> None:
        """Add the status of a pod; a repeated status adds nothing."""
        if pod.left_out:
            self._left_out[pod.uid] = pod.left_out
        for said in pod.containers if pod.node else ():
            if said.restart_count > 0:
                key = (pod.uid, said.name)
                container = self._containers.get(key)
                if container is None:
                    container = self._containers[key] = _LoopingContainer(pod)
                container.take(said, since_s=self._since_s)

    def by_node(self) -> dict[str, tuple[CrashLoop, ...]]:
        """The loops with an observed wait, by node, in alphabetical order."""
        seen = [each.seen(name) for (_, name), each in self._containers.items() if each.has_waits]
        found: dict[str, list[CrashLoop]] = {}
        for loop in sorted(seen, key=lambda each: (each.node, each.name)):
            found.setdefault(loop.node, []).append(loop)
        return {node: tuple(loops) for node, loops in found.items()}


class _LoopingContainer:
    """The statuses of one container so far."""

    def __init__(self, pod: PodStatement) -> None:
        self._namespace, self._pod, self._node = pod.namespace, pod.name, pod.node
        self._waits: dict[int, Wait] = {}
        self._key: str | None = None
        self._disturbed = False

    @property
    def has_waits(self) -> bool:
        return bool(self._waits)

    def seen(self, name: str) -> CrashLoop:
        waits = tuple(self._waits[restart] for restart in sorted(self._waits))
        return CrashLoop(namespace=self._namespace, pod=self._pod, container=name, node=self._node, waits=waits)

    def take(self, said: ContainerStatement, *, since_s: float) -> None:
        if said.start_failed or (self._key is not None and said.key != self._key):
            self._disturbed = True
        self._key = said.key
        present, previous = said.present, said.previous
        if present is None or previous is None or previous.finished_s is None or said.restart_count in self._waits:
            return
        seconds = present.started_s - previous.finished_s
        if seconds < 0:
            return
        self._waits[said.restart_count] = Wait(
            restart=said.restart_count,
            seconds=seconds,
            ran_s=max(previous.finished_s - previous.started_s, 0),
            started_s=present.started_s,
            seen_whole=previous.finished_s >= since_s,
            disturbed=self._disturbed,
        )
        self._disturbed = False
