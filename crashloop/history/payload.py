"""The `data` of events, typed, without fields that are not judged."""

from typing import Annotated, Any, Literal

import msgspec

from crashloop.spec.scenario import Scenario

Whole = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
"""A number that fits what it is kept in."""


class Begin(msgspec.Struct, frozen=True, kw_only=True):
    """`begin`."""

    format: str
    scenario: Scenario
    node: str | None = None
    kubernetes_version: str
    profile: Any = None
    """Of the node; None for a scenario that needs none."""
    feature_gates: dict[str, bool] = {}
    """Gates that the control plane was started with."""


class End(msgspec.Struct, frozen=True, kw_only=True):
    """`end`."""

    reason: str
    """complete, deadline, interrupted, failed or refused."""
    detail: str | None = None
    code: int | None = None
    """refused: HTTP status of the API server."""
    causes: tuple[dict[str, Any], ...] = ()
    """refused: what the API server objects to, each with field, reason and message."""


class ClockReading(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`clock`."""

    boot_ns: Whole
    boot_id: str | None = None
    """The boot that `boot_ns` counts from."""


class KubernetesEventData(msgspec.Struct, frozen=True, kw_only=True):
    """`kubernetes-event`."""

    reason: str = ""
    message: str = ""
    type: str = ""
    count: Whole = 1
    reporter: str = ""


class Stall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`stall`."""

    stalled_ns: Whole


class Pressure(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`pressure`."""

    some_us: Whole | None = None
    io_us: Whole | None = None
    memory_us: Whole | None = None
    interval_ns: Whole = 1_000_000_000

    @property
    def blocked_us(self) -> int:
        """I/O and memory stalls see the same disk, so the larger counts."""
        return max(self.io_us or 0, self.memory_us or 0)


class CpuWait(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`cpu-wait`."""

    waited_us: Whole
    interval_ns: Whole
    kubelet_us: Whole | None = None
    """None in histories of earlier versions."""


class Control(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`control`."""

    create_ns: Whole
    list_ns: Whole


class ApiControl(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`api-control`."""

    took_ns: Whole


class GapData(msgspec.Struct, frozen=True, kw_only=True):
    """`gap`."""

    channel: str
    from_ns: Whole
    reason: str = ""
    lost: bool = True
    """Whether events may be missing; if not, they only came late."""


REFUSED = "refused: "
"""Begins the outcome of a restart with a configuration that the kubelet was to refuse, and did; its last words follow."""


class InterventionData(msgspec.Struct, frozen=True, kw_only=True):
    """`intervention`."""

    action: str
    outcome: str
    index: int | None = None
    arguments: dict[str, Any] | None = None
    ended_ns: int | None = None
    scenario: str | None = None
    """The other scenario on the same node whose intervention it is."""
    count: int | None = None
    """Last poke: how many succeeded."""
    longest_ns: Whole | None = None
    """Last poke: the longest time between two that succeeded."""


class NodeData(msgspec.Struct, frozen=True, kw_only=True):
    """`node`."""

    kubelet_pid: int | None = None
    kubelet_started_ns: Whole | None = None
    configz: dict[str, Any] | None = None
    gates: dict[str, bool] | None = None
    profile: str | None = None
    """Profile that the kubelet was started with, where a scenario has changed it; None: the node's own."""
    matches_profile: bool | None = None
    """Whether configz matches that profile. None: not read, or left to the judge, since a gate of the profile may be the
    release's default."""
    declared: bool = False
    """Nothing could be read: that the node has the profile is what the user says."""
    boot_id: str | None = None
    ready_since: str | None = None
    """Since when the Node object says that the node is Ready; None while it does not, or where the kubelet's log is read."""
    unread: str | None = None
    """Why nothing could be read by which a restart of the node or its kubelet is seen; None if it was, or the log is read."""


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """One value of the kubelet's metrics."""

    name: str
    labels: dict[str, str] = {}
    value: float


class SampleData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`sample`."""

    series: tuple[Series, ...] = ()
    unread: str | None = None
    """Why nothing could be read; None if it was."""


class AnswerCause(msgspec.Struct, frozen=True, kw_only=True):
    """What the API server objects to in a field."""

    field: str = ""
    reason: str = ""
    message: str = ""


class AnswerData(msgspec.Struct, frozen=True, kw_only=True):
    """`answer`."""

    index: Whole
    """Position of the request in the scenario, from 0."""
    verb: str
    dry_run: bool = False
    code: Whole
    """HTTP status."""
    reason: str = ""
    message: str = ""
    causes: tuple[AnswerCause, ...] = ()
    warnings: tuple[str, ...] = ()
    object: dict[str, Any] | None = None
    """As it was returned; None for a refusal."""
    found: dict[str, Any] | None = None
    """As a GET returned it afterwards; None if it is not stored."""
    stored_bytes: Whole | None = None
    """Length of `found` in the API server's storage encoding, Protobuf."""


class AcceptedContainer(msgspec.Struct, frozen=True, rename="camel"):
    """A container of a pod as the API server has accepted it, as far as that can differ from what was sent."""

    name: str
    restart_policy: str | None = None
    restart_policy_rules: tuple[Any, ...] | None = None


class AcceptedSpec(msgspec.Struct, frozen=True, rename="camel"):
    """`spec` of an accepted pod."""

    containers: tuple[AcceptedContainer, ...] = ()
    init_containers: tuple[AcceptedContainer, ...] | None = None

    @property
    def each(self) -> tuple[AcceptedContainer, ...]:
        return (*(self.init_containers or ()), *self.containers)


class AcceptedPod(msgspec.Struct, frozen=True):
    """A pod that the API server has accepted."""

    spec: AcceptedSpec = AcceptedSpec()


class ContainerData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`created`, `started`, `noted`, `exited`, `removed`."""

    container_id: str | None = None
    """RUNTIME."""
    exit_code: Whole | None = None
    """`exited`."""
    boot_id: str | None = None
    """`started` by the JOURNAL: the boot that its time counts from; `-` if the container cannot see it."""
    told: bool = False
    """`exited` by the JOURNAL: whether the life has left its name in its termination log."""
    refused: str = ""
    """`exited` by the RUNTIME: why it would not start the container; empty: it ran."""
    pod: AcceptedPod | None = None
    """`created` by the API."""
    name: str = ""
    """`noted`: what a life has looked at."""
    value: str = ""
    """`noted`: what it has found."""


class SandboxData(msgspec.Struct, frozen=True, kw_only=True):
    """`sandbox`."""

    container_id: str
    phase: str = ""


class LogData(msgspec.Struct, frozen=True, kw_only=True):
    """`log`."""

    delay_s: float | None = None
    """The delay that held a start back; None: the start failed."""
    pod_bytes: Whole | None = None
    """Bytes of the lines about the pod since the one before of this kind; None in older histories."""


class LogFilesData(msgspec.Struct, frozen=True, kw_only=True):
    """`log-files`."""

    logs: dict[str, tuple[Whole, ...]]
    """Numbers of the log files, by container."""


class ProcessData(msgspec.Struct, frozen=True, kw_only=True):
    """`process-started`, `process-exited`, `process-healthy`."""

    pid: int | None = None
    exit_code: Whole | None = None
    stderr: str = ""
    configz: dict[str, Any] | None = None
    control: str | None = None
    """The valid kubelet profile with which it was started, if it is a control start."""


class Running(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """`state.running`."""

    started_at: str | None = None


class Terminated(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """`state.terminated`."""

    exit_code: Whole
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    container_id: str = msgspec.field(default="", name="containerID")


class Waiting(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`state.waiting`."""

    reason: str = ""
    message: str = ""


class ReportedState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A container state; none set means waiting."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatusData(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """One entry of `containerStatuses`."""

    name: str
    restart_count: Whole = 0
    ready: bool = False
    started: bool | None = None
    container_id: str = msgspec.field(default="", name="containerID")
    state: ReportedState = ReportedState()
    last_state: ReportedState = ReportedState()


class PodConditionData(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """One entry of `conditions`."""

    type: str
    status: str = ""
    """True, False or Unknown."""
    reason: str = ""
    last_transition_time: str | None = None


class PodStatusData(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """PodStatus, as far as it is judged."""

    observed_generation: int | None = None
    phase: str = ""
    reason: str = ""
    start_time: str | None = None
    pod_ip: str = msgspec.field(default="", name="podIP")
    conditions: tuple[PodConditionData, ...] | None = None
    init_container_statuses: tuple[ContainerStatusData, ...] | None = None
    container_statuses: tuple[ContainerStatusData, ...] | None = None
    ephemeral_container_statuses: tuple[ContainerStatusData, ...] | None = None

    @property
    def is_blank(self) -> bool:
        """Whether it is the one that the API server gives a new object."""
        return not (self.conditions or self.container_statuses or self.init_container_statuses)


class DeletionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`deletionTimestamp` and `deletionGracePeriodSeconds` of a pod."""

    timestamp: str
    grace_s: Whole = 0


class StatusData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`status`."""

    resource_version: str | None = None
    status: PodStatusData = PodStatusData()
    deletion: DeletionData | None = None
    """None: nobody has requested the pod's deletion."""


class RequestData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`request`."""

    method: str
    what: Literal["manifests", "blobs"]
    reference: str
    status: Whole
    """HTTP status of the answer."""
    password: str | None = None
    answered_ns: Whole | None = None
    """UTC; None in histories of earlier versions."""


class MirrorData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`mirror`."""

    mirror_uid: str
    phase: Literal["created", "deleted"]


class JobConditionData(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a Job's `conditions`."""

    type: str
    status: str = ""
    """True, False or Unknown."""
    reason: str = ""


class JobStatusData(msgspec.Struct, frozen=True, kw_only=True):
    """JobStatus, as far as it is judged."""

    failed: Whole = 0
    succeeded: Whole = 0
    conditions: tuple[JobConditionData, ...] | None = None


class JobData(msgspec.Struct, frozen=True, kw_only=True):
    """`job`."""

    status: JobStatusData = JobStatusData()
