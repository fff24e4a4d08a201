"""A recording: everything that one history file says, reduced. This is what checkers read."""

from collections.abc import Iterator

import msgspec

from crashloop.history.clock import Clocks
from crashloop.history.event import Channel, Damage
from crashloop.history.host import HostRecord
from crashloop.history.instances import Contradiction, Instance
from crashloop.history.payload import (
    REFUSED,
    AcceptedContainer,
    AnswerData,
    Begin,
    End,
    InterventionData,
    JobStatusData,
    KubernetesEventData,
    NodeData,
    ProcessData,
    RequestData,
    SampleData,
)
from crashloop.history.stamps import Fact
from crashloop.history.statuses import StatusReport
from crashloop.spec.intervention import RESTART_THE_KUBELET, InterventionKind


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """Events of a channel may be lost from `from_ns` to `to_ns` (UTC)."""

    line: int
    channel: str
    from_ns: int
    to_ns: int
    reason: str
    lost: bool = True
    """Whether events may be missing; if not, they only came late."""
    running: tuple[str, ...] = ()
    """Ids of the containers that still ran at its end."""

    def overlaps(self, from_ns: int, to_ns: int) -> bool:
        return self.from_ns <= to_ns and self.to_ns >= from_ns


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """An intervention that the recorder carried out, or tried to."""

    line: int
    t_ns: int
    data: InterventionData

    @property
    def ok(self) -> bool:
        return self.data.outcome == "ok"

    @property
    def refused(self) -> bool:
        """Whether the kubelet has refused the configuration, as it was to."""
        return self.data.outcome.startswith(REFUSED)

    @property
    def profile(self) -> str | None:
        """Profile that was written for the kubelet, and not refused by it; None: its configuration stayed."""
        return (self.data.arguments or {}).get("profile") if self.ok else None

    @property
    def is_poke(self) -> bool:
        """Whether it is a patch of the mode annotated, and not of the plan."""
        return self.data.index is None and self.data.action == InterventionKind.ANNOTATE


class AnnotationPeriod(msgspec.Struct, frozen=True, kw_only=True):
    """The patches of an annotation, about one a second, by which the annotated mode makes the kubelet sync."""

    first_ns: int
    last_ns: int | None = None
    """None if the last of them was not written: the recording broke off."""
    longest_ns: int | None = None
    """The longest time between two that succeeded."""
    failed_ns: tuple[int, ...] = ()


class NodeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the kubelet answered about itself."""

    line: int
    t_ns: int
    node: str | None
    data: NodeData

    @property
    def since_ns(self) -> int:
        """When the process that answered had started; by its log, else when it answered."""
        return self.data.kubelet_started_ns or self.t_ns


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """The kubelet's metrics at a time."""

    line: int
    t_ns: int
    data: SampleData

    def total(self, name: str, **labels: str) -> float:
        """The sum of all series of a name with these labels; 0 if there is none."""
        return sum(
            each.value for each in self.data.series if each.name == name and labels.items() <= each.labels.items()
        )


class SandboxEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The pod's sandbox came or went."""

    fact: Fact
    sandbox_id: str
    phase: str
    out_of_memory: bool = False
    """Of its exit: whether the pod's memory ran out in the moment before it, so that it is no doing of the kubelet's."""


class MirrorEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The mirror pod of a static pod came or went; each has a uid of its own."""

    fact: Fact
    mirror_uid: str
    phase: str


class ProcessEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A kubelet that a startup scenario tries: started, exited or healthy."""

    line: int
    t_ns: int
    data: ProcessData


class ApiAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a request of an API scenario."""

    line: int
    t_ns: int
    data: AnswerData


class ImageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to the run's image registry, as of `t_ns` (UTC)."""

    line: int
    t_ns: int
    container: str | None
    data: RequestData

    @property
    def names_tag(self) -> bool:
        """Whether it is for the manifest that the tag names: every pull begins with it."""
        return self.data.what == "manifests" and not self.data.reference.startswith("sha256:")

    @property
    def answered_ns(self) -> int:
        """When its answer began; when it came, if that was not recorded."""
        return self.data.answered_ns or self.t_ns


class JobReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the Job said of itself, as of `t_ns` (UTC) on our clock."""

    line: int
    t_ns: int
    status: JobStatusData

    @property
    def end(self) -> str | None:
        """`Complete`, or `Failed` with its reason; None while it goes on."""
        for each in self.status.conditions or ():
            if each.type in ("Complete", "Failed") and each.status == "True":
                return each.type if each.type == "Complete" else f"{each.type} ({each.reason})"
        return None


class LoggedDelay(msgspec.Struct, frozen=True, kw_only=True):
    """A backoff in the kubelet's log: its time is judged, its words are shown only."""

    line: int
    t_ns: int
    container: str | None
    delay_s: float | None
    pod_bytes: int | None = None
    """Of the lines about the pod since the one before."""


class KubernetesEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A Kubernetes Event about the pod or one of its containers, as of its receipt at `t_ns` (UTC)."""

    line: int
    t_ns: int
    container: str | None
    data: KubernetesEventData


class LogFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The log files of a pod at a time, by number and container."""

    line: int
    t_ns: int
    logs: dict[str, tuple[int, ...]]


class PodHistory(msgspec.Struct, kw_only=True):
    """One pod of a recording. A recreated pod has a uid of its own and starts anew."""

    uid: str
    created: Fact | None = None
    accepted: tuple[AcceptedContainer, ...] = ()
    """Its containers as the API server has accepted them."""
    containers: dict[str, tuple[Instance, ...]] = {}
    statuses: tuple[StatusReport, ...] = ()
    sandboxes: tuple[SandboxEvent, ...] = ()
    mirrors: tuple[MirrorEvent, ...] = ()
    """Of a static pod."""
    deleted: Fact | None = None
    events: tuple[KubernetesEvent, ...] = ()
    """In the order of their receipt."""
    logged: tuple[LoggedDelay, ...] = ()
    log_files: tuple[LogFiles, ...] = ()
    """Each time that the folders of its logs were listed."""
    contradictions: tuple[Contradiction, ...] = ()
    channels: frozenset[Channel] = frozenset()
    """Channels that said anything about this pod."""

    def instances(self, container: str) -> tuple[Instance, ...]:
        """The instances of a container in order of start; empty if it never appeared."""
        return self.containers.get(container, ())


class Recording(msgspec.Struct, kw_only=True):
    """One history file."""

    begin: Begin | None = None
    begin_ns: int = 0
    end: End | None = None
    end_ns: int = 0
    """When the recording ended: its end event, or the last thing in it."""
    end_line: int = 0
    damage: tuple[Damage, ...] = ()
    pods: tuple[PodHistory, ...] = ()
    gaps: tuple[Gap, ...] = ()
    interventions: tuple[Done, ...] = ()
    """Those of the plan, not the pokes."""
    pokes: AnnotationPeriod | None = None
    nodes: tuple[NodeReport, ...] = ()
    samples: tuple[Sample, ...] = ()
    started: tuple[ProcessEvent, ...] = ()
    exited: tuple[ProcessEvent, ...] = ()
    healthy: tuple[ProcessEvent, ...] = ()
    control_exited: tuple[ProcessEvent, ...] = ()
    control_healthy: tuple[ProcessEvent, ...] = ()
    """Of the control start of the same node."""
    answers: tuple[ApiAnswer, ...] = ()
    """To the requests of an API scenario, in the order of their receipt."""
    jobs: tuple[JobReport, ...] = ()
    """Of a scenario with a Job, in the order of their receipt."""
    requests: tuple[ImageRequest, ...] = ()
    """To the image registry, in their order."""
    clocks: Clocks
    host: HostRecord
    events: int = 0

    @property
    def cut_off(self) -> Damage | None:
        """Where the recording stopped unsealed; None if it was sealed."""
        return next((damage for damage in self.damage if damage.cut_off), None)

    @property
    def broken(self) -> tuple[Damage, ...]:
        """Damage that casts doubt on what stands in the file."""
        return tuple(damage for damage in self.damage if not damage.cut_off)

    def reconfigured_to(self, t_ns: int) -> str | None:
        """Name of the profile that the kubelet was last restarted with up to that time; None: it has the node's own.

        The new profile counts from the beginning of the restart: a kubelet that is being stopped decides nothing more.
        What is written while the kubelet runs counts from its next restart.
        """
        written = running = None
        for each in self.interventions:
            if each.ok and each.t_ns <= t_ns:
                written = each.profile or written
                running = written if each.data.action in RESTART_THE_KUBELET else running
        return running

    def gaps_of(self, channel: Channel, from_ns: int, to_ns: int) -> Iterator[Gap]:
        """Gaps of a channel in which events of the interval may be lost."""
        return (gap for gap in self.gaps if gap.lost and gap.channel == channel and gap.overlaps(from_ns, to_ns))
