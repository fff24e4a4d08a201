"""One line of a history: something that happened, when, by which clock, and who says so; its JSON Lines form, and its damage.

Theory of operation. The recorder appends events in the order in which they reach it, one history file a
scenario, and seals the file with an `end` event. Nothing is corrected on the way: contradictions between
channels are for the checkers. *Ground truth* are the runtime's events and the container's own journal; the
API's statuses, the kubelet's log and metrics are *statements of the system under test*, judged against it.

Reading never raises on what is in the file: each fault becomes a `Damage` with its line, and reading goes on behind
it as far as that makes sense. What a damaged history can still prove is for the judge to decide.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

HISTORY_FORMAT = "crashloop.history/1"
"""Written into each `begin` event. A reader refuses a newer number."""


class Clock(StrEnum):
    """What `Event.t_ns` counts."""

    UTC = "utc"
    """Nanoseconds since the Unix epoch, CLOCK_REALTIME of the host that stamped the event."""
    BOOT = "boot"
    """Nanoseconds since the host booted, CLOCK_BOOTTIME (/proc/uptime); immune to clock steps."""


class Channel(StrEnum):
    """Who says so."""

    RUNTIME = "runtime"
    """The container runtime's event stream: ground truth."""
    JOURNAL = "journal"
    """The container's own journal, read from its log: ground truth."""
    API = "api"
    """Pod objects as the watch delivered them: statements of the system under test."""
    KUBELET = "kubelet"
    """The kubelet process: its log, its exit, its answers: statements of the system under test."""
    REGISTRY = "registry"
    """The run's image registry, by its log of requests, read at the end: ground truth."""
    EVENTS = "events"
    """Kubernetes Events about the pods: their senders merge, limit and drop them, so the lack of one proves nothing. They are
    shown; judged are those of a pull (crashloop.checks.pulls) and the first of a delay (crashloop.checks.statements)."""
    RECORDER = "recorder"
    """What we did and what happened to us: interventions, watch gaps, host stalls."""


class Kind(StrEnum):
    """What happened. The channels that use a kind and its `data` stand beside it."""

    BEGIN = "begin"
    """RECORDER. data: format, scenario (its plan entry), node and its profile (null for a scenario that needs none),
    kubernetes_version, feature_gates (those that the control plane was started with)."""
    END = "end"
    """RECORDER; last line of a sealed history. data: reason (complete, deadline, interrupted, failed, refused), detail.

    refused: the API server did not accept the pod; data also: code (HTTP status), causes (list of {field, reason, message}).
    """
    CLOCK = "clock"
    """RECORDER; at begin and end and every 10 s. Both clocks read at once: t_ns is UTC. data: boot_ns, monotonic_ns, boot_id
    (the boot that boot_ns counts from); step_ns if UTC has moved against boot time by more than 50 ms since the last
    reading."""
    STALL = "stall"
    """RECORDER. The 100 ms heartbeat came late. t_ns is when it was due. data: stalled_ns."""
    PRESSURE = "pressure"
    """RECORDER. Once a second. data: interval_ns, and by how much the host's stalls (`total` of the line `some`) grew in the
    `interval_ns` before t_ns: some_us of /proc/pressure/cpu, io_us and memory_us of the other two; null where the kernel
    does not count them."""
    CPU_WAIT = "cpu-wait"
    """RECORDER. Once a second for each node on this host. data: interval_ns, and waited_us: for how long the threads of the
    node's kubelet, runtime and shims were ready to run and had no CPU (second figure of /proc/<pid>/task/<tid>/schedstat),
    all together no more than interval_ns, unless a single one waited longer; kubelet_us: the same of the kubelet alone."""
    CONTROL = "control"
    """RECORDER. Every 2 s for each node whose runtime is within reach. The recorder itself had the runtime create a container
    that never runs, and list what it has; no kubelet was involved. t_ns is the end. data: create_ns and list_ns, how long
    each took."""
    API_CONTROL = "api-control"
    """RECORDER. Once a second. The recorder patched a pod that no node has, and the watch of the pods brought it; no kubelet was
    involved. t_ns is when it came. data: took_ns, since the request."""
    GAP = "gap"
    """RECORDER. t_ns is the end. data: channel, from_ns, reason, lost (true: events of the channel may be missing; false: they
    came late, but all of them), running (ids of containers that still ran at its end, so that no exit of theirs is missing)."""
    INTERVENTION = "intervention"
    """RECORDER. t_ns is when it began. data: action, arguments, outcome (ok, the error, or `refused: ` and
    the last words of a kubelet that has refused a configuration as planned), index (of the plan's
    interventions; null for a poke of the annotated mode and for a signal that ends a life), ended_ns; scenario, with index
    null: what another scenario did to the node of both.

    Of the pokes, about one a second, only the first, those that failed and the last are written; the last has also
    count (of those that succeeded) and longest_ns (between two that succeeded).
    """
    NODE = "node"
    """KUBELET; at begin and whenever the kubelet has been restarted. data: configz (effective KubeletConfiguration),
    gates (its featureGates), matches_profile, kubelet_pid and kubelet_started_ns (by its log); null where unreadable.
    profile, where the kubelet was restarted with another than the node's: the one that matches_profile is about."""
    SAMPLE = "sample"
    """KUBELET; at the end of a scenario that names metrics of the kubelet. data: series (list of {name, labels, value}, as the
    kubelet of the node states them), or unread: why they could not be read."""
    CREATED = "created"
    """API: the pod was accepted (t_ns our clock; data: pod, as the API server returned it).
    RUNTIME: a container was created (data: container_id, image; listed: true if it was found only after a gap)."""
    STARTED = "started"
    """RUNTIME: data: container_id, pid. JOURNAL: a life began (data: line, as written; boot_id, the boot
    that t_ns counts from)."""
    EXITED = "exited"
    """RUNTIME: t_ns is when the process ended; data: container_id, exit_code, published_ns (of the event itself; may be earlier
    than that of `started` in a very short life), or refused (why) if the runtime refused the start. JOURNAL: a life ends now
    (data: exit_code, line, as written; told: true if it has left its name in its termination log, for the kubelet to state)."""
    NOTED = "noted"
    """JOURNAL: what a life has found around it. data: name, value, line (as written)."""
    REMOVED = "removed"
    """RUNTIME: data: container_id."""
    OOM = "oom"
    """RUNTIME: the kernel killed a process of the container for memory. data: container_id."""
    EXEC_EXITED = "exec-exited"
    """RUNTIME: a process that was executed in the container, such as an exec probe, ended. data: container_id, exec_id,
    exit_code, published_ns."""
    CLEARED = "cleared"
    """RUNTIME: the runtime has cleared away what is left of the exited process (containerd deletes its task), and from then on
    tells kubelets that the container has exited. data: container_id."""
    SANDBOX = "sandbox"
    """RUNTIME: the pod's sandbox was created or went. data: container_id, phase (created, started, exited, removed)."""
    STATUS = "status"
    """API: data: resource_version, status (PodStatus as sent), deletion (of a pod that is
    being deleted: timestamp and grace_s, as in its metadata). t_ns is our
    clock on receipt."""
    JOB = "job"
    """API, scenarios with a Job: about once a second, if it has changed. data: resource_version, status (JobStatus as sent).
    t_ns is our clock on receipt."""
    MIRROR = "mirror"
    """API, static pods: the mirror pod was created or deleted; pod_uid is the static pod's. data: mirror_uid (of the object),
    phase (created, deleted)."""
    REQUEST = "request"
    """REGISTRY, containers with an image of the registry: a request for it. t_ns is when it came. data: method, what (manifests
    or blobs), reference (tag or digest), status (HTTP), password (that it was sent with; null: none), answered_ns (when its
    answer began, by the same clock)."""
    DELETED = "deleted"
    """API: the pod object is gone. data: resource_version."""
    KUBERNETES_EVENT = "kubernetes-event"
    """EVENTS: a Kubernetes Event came, or was counted again; t_ns is our clock on receipt. data: reason, message, type (Normal,
    Warning), count, reporter (the component that sent it)."""
    ANSWER = "answer"
    """API, API scenarios: the answer to a request; t_ns is our clock on receipt. data: index (of the scenario's requests),
    verb, dry_run, code (HTTP status), reason, message and causes (of the Status: list of {field, reason, message}),
    warnings (headers Warning), object (as returned; null if refused), found (as a GET returned it afterwards; null if there
    is none), stored_bytes (of `found` in the API server's storage encoding, Protobuf)."""
    LOG = "log"
    """KUBELET: a line of the kubelet's log about this container that carries a backoff. t_ns is the line's own time,
    in steps of 1 us. data: line, delay_s, pod_bytes (of all lines about the pod since the one before of this kind, itself
    included)."""
    LOG_FILES = "log-files"
    """KUBELET; when a pod is read out, where the folders of its logs can be listed. data: logs, the numbers of the log files that
    are there, in order, by container; the kubelet names a log by the restartCount of its instance."""
    PROCESS_STARTED = "process-started"
    """KUBELET, startup scenarios: data: pid, argv."""
    PROCESS_EXITED = "process-exited"
    """KUBELET, startup scenarios: data: exit_code (negative: a signal), stderr (its last lines)."""
    PROCESS_HEALTHY = "process-healthy"
    """KUBELET, startup scenarios: /healthz answered ok. data: configz; stderr, what it says of the maximum."""


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of history.jsonl."""

    seq: int
    """Position in the file, from 0, without holes."""
    t_ns: int
    """When, in nanoseconds of `clock`."""
    clock: Clock = Clock.UTC
    resolution_ns: int = 1
    """Step of the stamp: 1 for the runtime, 10 ms for /proc/uptime, 1 s for times in API objects."""
    received_ns: int
    """When the recorder had it in hand, UTC nanoseconds of the recorder's clock."""
    channel: Channel
    kind: Kind
    node: str | None = None
    pod_uid: str | None = None
    container: str | None = None
    instance: int | None = None
    """Ordinal of the container's instance as the channel itself counts: 0 for the first start."""
    data: dict[str, Any] = {}


_FAMILY, _, _NUMBER = HISTORY_FORMAT.partition("/")
_BEGIN, _END = Kind.BEGIN, Kind.END


class _Begin(msgspec.Struct):
    kind: str
    data: dict[str, Any] = {}


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """A fault of the file itself, at `line` (counted from 1; for a missing end the last line, 0 for an empty file)."""

    line: int
    problem: str
    cut_off: bool = False
    """The recording merely stops here: what stands before this line is whole."""


class _Placed(Protocol):
    """What the order of the lines is judged by."""

    @property
    def seq(self) -> int: ...
    @property
    def kind(self) -> Kind: ...


T = TypeVar("T", bound=_Placed)


class Numbered(NamedTuple, Generic[T]):
    """An event and the line of the history on which it stands."""

    line: int
    event: T


def to_line(event: Event) -> bytes:
    """One line of history.jsonl, with its newline."""
    return msgspec.json.encode(event) + b"\n"


def read_lines(lines: Iterable[bytes], decode: Callable[[bytes], T]) -> Iterator[Numbered[T] | Damage]:
    """The lines of a history in the order of the file, and where it is damaged. Reads one line at a time.

    `decode` makes an event of a line, or raises msgspec.DecodeError.
    """
    expected, number, ended = 0, 0, False
    for number, line in enumerate(lines, start=1):
        if ended:
            yield Damage(line=number, problem="an event follows the end event")
            return
        if number == 1 and (unsupported := _unsupported(line)) is not None:
            yield Damage(line=number, problem=unsupported)
            return
        try:
            event = decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield _unreadable(number, line, error)
            expected += 1
            continue
        kind, seq = event.kind, event.seq
        if number == 1 and kind is not _BEGIN:
            yield Damage(line=1, problem=f"the history starts with {kind!s}; a begin event was expected")
        if number > 1 and kind is _BEGIN:
            yield Damage(line=number, problem="a second recording begins here")
            return
        if seq < expected:
            yield Damage(line=number, problem=f"seq {seq} where {expected} was expected: repeated or out of order")
            continue
        if seq > expected:
            yield Damage(line=number, problem=f"seq {seq} where {expected} was expected: {seq - expected} missing")
        expected = seq + 1
        ended = kind is _END
        yield Numbered(number, event)
    if not ended:
        problem = "no end event: the recording stopped before it was sealed" if number else "the history is empty"
        yield Damage(line=number, problem=problem, cut_off=True)


def _unreadable(number: int, line: bytes, error: Exception) -> Damage:
    if not line.endswith(b"\n"):
        return Damage(line=number, problem="the last line is cut off", cut_off=True)
    if isinstance(error, msgspec.ValidationError):
        return Damage(line=number, problem=f"not an event ({error})")
    return Damage(line=number, problem=f"not JSON ({error})")


def _unsupported(first: bytes) -> str | None:
    """Why this version cannot read what follows the first line; None if it can, or if that line is no begin event."""
    try:
        begin = msgspec.json.decode(first, type=_Begin)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    written = begin.data.get("format")
    if begin.kind != Kind.BEGIN or written == HISTORY_FORMAT:
        return None
    family, _, number = str(written).partition("/")
    if family == _FAMILY and number.isdigit() and int(number) > int(_NUMBER):
        return f"format {written!r} is newer than {HISTORY_FORMAT!r}, which this version reads"
    return f"format {written!r}; this version reads {HISTORY_FORMAT!r}"
