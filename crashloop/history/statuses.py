"""Pod statuses as the watch delivered them, reduced to what is judged."""

from datetime import datetime
from functools import lru_cache
from sys import intern

import msgspec

from crashloop.history.payload import ContainerStatusData, DeletionData, PodConditionData, PodStatusData, ReportedState

RESTARTING_ALL = "AllContainersRestarting"
"""The condition by which a pod shows a RestartAllContainers: KEP-5532; k8s.io/api/core/v1/types.go@v0.37.1."""

RESET_REASON = "RestartingAllContainers"
"""Why a container waits that it has removed: pkg/kubelet/kubelet_pods.go@v1.37.1 convertToAPIContainerStatuses."""

CONTAINERS_READY, READY = "ContainersReady", "Ready"
"""The conditions by which a pod is sent traffic."""
INITIALIZED = "Initialized"
"""The condition by which a pod states that its init containers are done."""
_ENDING = frozenset({"PodFailed", "PodCompleted"})
"""Their reasons in a pod that has ended, or whose containers are being ended: pkg/kubelet/status/generate.go@v1.37.1."""

SCHEDULED = "PodScheduled"
"""The condition by which the scheduler states whether it has found a node."""
READY_TO_START = "PodReadyToStartContainers"
"""The condition by which a pod states that its sandbox is there, with its network."""

FAILED_STARTS = frozenset({"StartError", "ContainerCannotRun", "RunContainerError"})
"""Reasons of a container that was created and never ran, such as one whose start the kubelet's end cut off: the runtime has no
exit of it (containerd internal/cri/server/container_start.go@v2.3.7 StartContainer)."""


class ContainerState(msgspec.Struct, frozen=True, gc=False):
    """A container state. Reported times are whole seconds, in UTC nanoseconds."""

    kind: str = "waiting"
    """waiting, running or terminated."""
    reason: str = ""
    message: str = ""
    exit_code: int | None = None
    started_ns: int | None = None
    finished_ns: int | None = None
    container_id: str = ""
    """Of a terminated instance."""


class ContainerReport(msgspec.Struct, frozen=True, gc=False):
    """What one status says about one container."""

    restart_count: int
    container_id: str
    ready: bool
    state: ContainerState
    last_state: ContainerState | None
    """None if no earlier instance is reported."""
    started: bool = False
    """Whether it has passed its postStart hook and its startup probe."""


class StatusReport(msgspec.Struct, frozen=True, gc=False):
    """One pod status: a statement of the system under test."""

    line: int
    t_ns: int
    """When the recorder had it, UTC."""
    phase: str
    containers: dict[str, ContainerReport]
    reason: str = ""
    """Why the pod ended, where its containers are not why: such as Evicted."""
    address: str = ""
    """podIP; empty before it has one."""
    restarting_all: bool | None = None
    """Condition AllContainersRestarting; None without it."""
    deletion_ns: int | None = None
    """Since when the pod was being deleted, to the second below; None: it was not."""
    scheduled: bool | None = None
    """Condition PodScheduled: whether a node was found; None without it."""
    started_ns: int | None = None
    """When the kubelet took the pod (startTime), to the second below; None: it did not say."""
    containers_ready: bool | None = None
    """Condition ContainersReady; None without it."""
    ready: bool | None = None
    """Condition Ready; None without it."""
    ready_since_ns: int | None = None
    """Since when ContainersReady is what it is, by the kubelet, to the second below; None: it did not say."""
    is_ending: bool = False
    """Whether ContainersReady has the reason that the pod has ended or is being ended, as after its deadline."""
    initialized: bool | None = None
    """Condition Initialized; None without it."""
    generation: int | None = None
    """observedGeneration: the generation of the pod's spec that it is about; None: it does not say."""
    ready_to_start: bool | None = None
    """Condition PodReadyToStartContainers; None without it."""


def report_of(line: int, received_ns: int, status: PodStatusData, deletion: DeletionData | None = None) -> StatusReport:
    """The statement in a PodStatus, of init, regular and ephemeral containers alike. Raises ValueError on a bad time."""
    each = (
        *(status.init_container_statuses or ()),
        *(status.container_statuses or ()),
        *(status.ephemeral_container_statuses or ()),
    )
    conditions = {one.type: one for one in status.conditions or ()}
    containers_ready = conditions.get(CONTAINERS_READY)
    return StatusReport(
        line,
        received_ns,
        status.phase,
        {one.name: _container(one) for one in each},
        status.reason,
        intern(status.pod_ip),
        _is_true(conditions.get(RESTARTING_ALL)),
        None if deletion is None else (_ns(deletion.timestamp) or 0) - deletion.grace_s * 1_000_000_000,
        _is_true(conditions.get(SCHEDULED)),
        _ns(status.start_time),
        _is_true(containers_ready),
        _is_true(conditions.get(READY)),
        None if containers_ready is None else _ns(containers_ready.last_transition_time),
        containers_ready is not None and containers_ready.reason in _ENDING,
        _is_true(conditions.get(INITIALIZED)),
        status.observed_generation,
        _is_true(conditions.get(READY_TO_START)),
    )


def _is_true(condition: PodConditionData | None) -> bool | None:
    return None if condition is None else condition.status == "True"


def _container(status: ContainerStatusData) -> ContainerReport:
    last = status.last_state
    return ContainerReport(
        status.restart_count,
        _bare(status.container_id),
        status.ready,
        _state(status.state),
        None if last == _NO_STATE else _state(last),
        bool(status.started),
    )


_NO_STATE = ReportedState()
_WAITING = ContainerState()


@lru_cache(maxsize=1024)
def _state(state: ReportedState) -> ContainerState:
    """One object for all statuses that say the same."""
    if state.terminated is not None:
        ended = state.terminated
        return ContainerState(
            "terminated",
            ended.reason,
            ended.message,
            ended.exit_code,
            _ns(ended.started_at),
            _ns(ended.finished_at),
            _bare(ended.container_id),
        )
    if state.running is not None:
        return ContainerState("running", started_ns=_ns(state.running.started_at))
    if state.waiting is not None:
        return ContainerState("waiting", state.waiting.reason, state.waiting.message)
    return _WAITING


def _bare(container_id: str) -> str:
    """Without the runtime's name before it (containerd://)."""
    return intern(container_id.rpartition("://")[2])


@lru_cache(maxsize=4096)
def _ns(moment: str | None) -> int | None:
    """Raises ValueError if it is no time."""
    return None if moment is None else int(datetime.fromisoformat(moment).timestamp()) * 1_000_000_000
