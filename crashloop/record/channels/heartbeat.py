"""The heartbeat of a node that is not this host: a pod there, whose log is followed, and its clock converted to this host's.

Theory of operation. A heartbeat pod on the node writes its beats in time since boot, which is also the journals' clock, and
its log arrives a little later. The least difference between our UTC at receipt and its boot time, over the last minute,
converts one into the other: its error is the shortest transfer time, some milliseconds, and makes times late rather than
early. The node's own UTC is not used, so it may be wrong.
"""

import re
import threading
import time
from collections import deque

import msgspec
import urllib3

from crashloop.errors import ClusterError, UsageError
from crashloop.history.event import Event, Kind
from crashloop.kube.answers import ApiRefusal, KubeError, hang_up, lines
from crashloop.kube.client import KubeApi
from crashloop.kube.objects import missing_images
from crashloop.pods.manifest import HEARTBEAT, heartbeat_manifest
from crashloop.record.channels.channel import Follower, Sink, now_ns, recorder_event
from crashloop.record.channels.host import grown
from crashloop.yaml_text import Json

WARM = 10
"""Beats after which the clocks are known well enough; a young heartbeat passes each of them on."""
_WINDOW = 60
_LATE_NS = 50_000_000
_CLOCK_EVERY_NS = 10_000_000_000

_BEAT = re.compile(
    rb"crashloop/1 beat (\d{1,10})\.(\d\d) (-?\d{1,9}) (\d{1,18}|-)(?: (\d{1,18}|-) (\d{1,18}|-) ([0-9a-f-]{1,36}))?",
    re.ASCII,
)


class Beat(msgspec.Struct, frozen=True, kw_only=True):
    """One line of beat.sh."""

    boot_ns: int
    late_ns: int
    stalled_us: int | None
    """The kernel's count of CPU pressure since boot; None where it has none."""
    io_us: int | None = None
    memory_us: int | None = None
    boot_id: str | None = None
    """The boot that `boot_ns` counts from; `-` if the container cannot see it."""


def read_beat(line: bytes) -> Beat | None:
    """The beat in a line of the log; None for anything else."""
    match = _BEAT.fullmatch(line.strip())
    if match is None:
        return None
    seconds, centiseconds, late, stalled, io, memory, boot_id = match.groups()
    return Beat(
        boot_ns=(int(seconds) * 100 + int(centiseconds)) * 10_000_000,
        late_ns=int(late) * 10_000_000,
        stalled_us=_optional_count(stalled),
        io_us=_optional_count(io),
        memory_us=_optional_count(memory),
        boot_id=None if boot_id is None else boot_id.decode(),
    )


def _optional_count(text: bytes | None) -> int | None:
    return None if text is None or text == b"-" else int(text)


class NodeClock:
    """The beats of one node, one after the other."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._offsets_ns: deque[int] = deque(maxlen=_WINDOW)
        self._last: Beat | None = None
        self._written_ns = 0

    @property
    def is_warm(self) -> bool:
        return len(self._offsets_ns) >= WARM

    def take(self, beat: Beat, received_ns: int) -> list[Event]:
        """The events of a beat; none for one that was reported before."""
        before = self._last
        if before is not None and beat.boot_ns <= before.boot_ns:
            return []
        self._last = beat
        self._offsets_ns.append(received_ns - beat.boot_ns)
        if before is None or not self.is_warm:
            return []
        events = [self._pressure(before, beat)]
        if beat.late_ns > _LATE_NS:
            stalled = {"stalled_ns": beat.late_ns}
            events.insert(
                0, recorder_event(Kind.STALL, self._utc_ns(beat.boot_ns - beat.late_ns), stalled, node=self._node)
            )
        if beat.boot_ns - self._written_ns >= _CLOCK_EVERY_NS:
            self._written_ns = beat.boot_ns
            events += self.reading()
        return events

    def reading(self) -> list[Event]:
        """Both clocks at the last beat; nothing before it is warm."""
        if self._last is None or not self.is_warm:
            return []
        boot_ns = self._last.boot_ns
        data = {"boot_ns": boot_ns, "boot_id": self._last.boot_id}
        return [recorder_event(Kind.CLOCK, self._utc_ns(boot_ns), data, node=self._node)]

    def _utc_ns(self, boot_ns: int) -> int:
        return boot_ns + min(self._offsets_ns)

    def _pressure(self, before: Beat, beat: Beat) -> Event:
        data = {
            "some_us": grown(before.stalled_us, beat.stalled_us),
            "io_us": grown(before.io_us, beat.io_us),
            "memory_us": grown(before.memory_us, beat.memory_us),
            "interval_ns": beat.boot_ns - before.boot_ns,
        }
        return recorder_event(Kind.PRESSURE, self._utc_ns(beat.boot_ns), data, node=self._node)


BEATS_WITHIN_S = 120.0
"""How long the node may take to pull the image and start the pod."""
_LOOK_S = 1.0
_SILENT_S = 15.0
_RETRY_S = 0.5


class NodeHeartbeat(Follower):
    """Reports the clock and the stalls of a node to its scenarios."""

    def __init__(self, api: KubeApi, namespace: str, node: str, *, image: str, run: str, sink: Sink) -> None:
        super().__init__(f"heartbeat-{node}")
        self._api = api
        self._namespace = namespace
        self._node = node
        self._image = image
        self._manifest = heartbeat_manifest(node=node, image=image, run=run)
        self._pod: str = self._manifest["metadata"]["name"]
        self._sink = sink
        self._lock = threading.Lock()
        self._clock = NodeClock(node)
        self._warm = threading.Event()
        self._connection: urllib3.BaseHTTPResponse | None = None

    def start(self) -> None:
        """Create the pod. Raises ClusterError if the API server refuses it."""
        try:
            self._api.create_pod(self._namespace, self._manifest)
        except ApiRefusal as error:
            raise ClusterError(
                f"node {self._node}: its heartbeat pod is refused in namespace {self._namespace}.\n{error}"
            ) from error
        super().start()

    def wait_until_it_beats(self) -> None:
        """Return once the node's clock is known.

        Raises UsageError at once if the node cannot have the image, ClusterError with the pod's state if time runs out.
        """
        deadline_s = time.monotonic() + BEATS_WITHIN_S
        while not self._warm.wait(_LOOK_S):
            status = self._status()
            self._require_image(status)
            if time.monotonic() >= deadline_s:
                raise ClusterError(
                    f"node {self._node}: its heartbeat pod has been silent for {BEATS_WITHIN_S:g} s.\n"
                    f"Its status: {msgspec.json.encode(status).decode()}"
                )

    def reading(self) -> list[Event]:
        """Both clocks at the last beat."""
        with self._lock:
            return self._clock.reading()

    def stop(self) -> None:
        """End, and remove the pod."""
        self.stopped.set()
        if (connection := self._connection) is not None:
            hang_up(connection)
        super().stop()
        try:
            self._api.delete_pod(self._namespace, self._pod, grace_s=0)
        except KubeError:
            return  # it goes with the namespace, or with the run's label

    def follow(self) -> None:
        while not self.stopped.is_set():
            try:
                log = self._api.follow_log(self._namespace, self._pod, HEARTBEAT, silent_s=_SILENT_S)
                self._connection = log
                for line in lines(log, doing=f"follow the heartbeat of node {self._node}"):
                    self._take(line, now_ns())
            except KubeError:
                # Silence is what the checkers see of it: no heartbeat covers the time.
                self._connection = None
            self.stopped.wait(_RETRY_S)

    def _take(self, line: bytes, received_ns: int) -> None:
        beat = read_beat(line)
        if beat is None:
            return
        with self._lock:
            events = self._clock.take(beat, received_ns)
            warm = self._clock.is_warm
        for event in events:
            self._sink.node(self._node, event)
        if warm:
            self._warm.set()

    def _require_image(self, status: Json) -> None:
        for each in missing_images(status):
            raise UsageError(
                f"node {self._node}: it cannot have the image {self._image} ({each.reason}).\n"
                f"{each.message}\n"
                "Name an image with --image that the node has or can pull."
            )

    def _status(self) -> Json:
        """Of the pod: its phase and its containers, or the error by which it cannot be read."""
        try:
            status = self._api.get_pod(self._namespace, self._pod)["status"]
        except KubeError as error:
            return {"error": str(error)}
        return {key: status[key] for key in ("phase", "containerStatuses") if key in status}
