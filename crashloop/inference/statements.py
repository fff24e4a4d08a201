"""The restarts in a pod's status from which a curve can be inferred.

Only regular containers count, without those whose restarts need not wait for the curve: a failing liveness or startup
probe kills and restarts in one sync (kuberuntime_manager.go@v1.37.1 SyncPod), and RestartAllContainers (KEP-5532)
removes the exited containers that delays are counted from.
"""

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


class _Container(msgspec.Struct, frozen=True, rename="camel"):
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
    containers: tuple[_Container, ...] = ()
    init_containers: tuple[_Container, ...] | None = None


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
