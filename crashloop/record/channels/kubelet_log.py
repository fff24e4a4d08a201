"""The kubelet's log channel: starts that the kubelet held back or failed to make, and its restarts. One thread for all nodes."""

import logging
import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from crashloop.history.event import Channel, Event, Kind
from crashloop.record.channels.events import Sink, now_ns
from crashloop.record.channels.follower import Follower
from crashloop.record.channels.klog import no_starts, pod_of, read_header, zone_of

POLL_S = 0.2
LOOK_BACK_BYTES = 1 << 20
"""How much of a log that was there before is read, to learn which process writes it."""

log = logging.getLogger(__name__)


class KubeletProcess(msgspec.Struct, frozen=True):
    """A kubelet by its log; `started_ns` is its first line, None if that was not seen."""

    pid: int
    started_ns: int | None


class LogTail:
    """The whole lines that a file has gained since the last look. A file that was replaced or cut short begins anew."""

    def __init__(self, path: Path, *, look_back: int = LOOK_BACK_BYTES) -> None:
        self._path = path
        self._rest = b""
        self._identity: int | None = None
        self._offset = 0
        self._look_back = look_back
        self.from_start = True

    def lines(self) -> list[str]:
        """What came since. Raises OSError if the file cannot be read."""
        with self._path.open("rb") as file:
            size = file.seek(0, 2)
            identity = self._path.stat().st_ino
            if self._identity is None and size > self._look_back:
                self._offset, self.from_start = size - self._look_back, False
            elif self._identity not in (None, identity) or size < self._offset:
                self._offset, self._rest = 0, b""
            self._identity = identity
            file.seek(self._offset)
            raw = file.read()
        self._offset += len(raw)
        *whole, self._rest = (self._rest + raw).split(b"\n")
        return [line.decode(errors="replace") for line in whole]


class KubeletLogChannel(Follower):
    """Follows the kubelets' logs of all nodes."""

    def __init__(self, namespace: str, sink: Sink, on_restart: Callable[[str, KubeletProcess], None]) -> None:
        super().__init__("kubelet-log")
        self._namespace = namespace
        self._sink = sink
        self._on_restart = on_restart
        self._tails: dict[str, LogTail] = {}
        self._processes: dict[str, KubeletProcess] = {}
        self._unreadable: dict[str, tuple[int, str]] = {}
        self._pod_bytes: Counter[str] = Counter()
        """Bytes of the lines about a pod since the last that was reported, by its uid."""
        self._lock = threading.Lock()

    def add(self, node: str, path: Path) -> None:
        """Follow one more log; what it says already is read before this returns."""
        with self._lock:
            self._tails[node] = LogTail(path)
            self._read(node)

    def follows(self, node: str) -> bool:
        return node in self._tails

    def remove(self, node: str) -> None:
        with self._lock:
            self._tails.pop(node, None)
            self._processes.pop(node, None)
            self._unreadable.pop(node, None)

    def process(self, node: str) -> KubeletProcess | None:
        """The kubelet that wrote the newest line."""
        return self._processes.get(node)

    def broken_since(self, node: str) -> tuple[int, str] | None:
        """Since when a log cannot be read, and why; None while it can."""
        return self._unreadable.get(node)

    def follow(self) -> None:
        while not self.stopped.wait(POLL_S):
            with self._lock:
                for node in self._tails:
                    self._read(node)

    def _read(self, node: str) -> None:
        tail = self._tails[node]
        try:
            lines = tail.lines()
        except OSError as error:
            self._unreadable.setdefault(node, (now_ns(), f"{error.strerror}: {error.filename}"))
            return
        self._unreadable.pop(node, None)
        now = datetime.now(UTC)
        zone = zone_of(lines, now, now.astimezone().utcoffset() or timedelta(0))
        for line in lines:
            self._notice_process(node, line, now, zone)
            about = pod_of(line)
            if about is not None:
                self._pod_bytes[about] += len(line.encode()) + 1
            if "back-off " in line or "StartContainer" in line:
                self._notice_no_starts(node, line, now, zone)

    def _notice_process(self, node: str, line: str, now: datetime, zone: timedelta) -> None:
        known = self._processes.get(node)
        if known is not None and f" {known.pid} " in line[:40]:
            return
        header = read_header(line, now, zone)
        if header is None or (known is not None and header.pid == known.pid):
            return
        seen_first_line = known is not None or self._tails[node].from_start
        process = KubeletProcess(header.pid, header.t_ns if seen_first_line else None)
        self._processes[node] = process
        if known is not None:
            log.info("node %s: the kubelet was restarted (process %d after %d)", node, process.pid, known.pid)
            self._on_restart(node, process)

    def _notice_no_starts(self, node: str, line: str, now: datetime, zone: timedelta) -> None:
        header = read_header(line, now, zone)
        if header is None:
            return
        for each in no_starts(line):
            if each.namespace == self._namespace:
                event = Event(
                    seq=0,
                    t_ns=header.t_ns,
                    resolution_ns=1000,
                    received_ns=now_ns(),
                    channel=Channel.KUBELET,
                    kind=Kind.LOG,
                    node=node,
                    pod_uid=each.pod_uid,
                    container=each.container,
                    data={"line": line, "delay_s": each.delay_s, "pod_bytes": self._pod_bytes.pop(each.pod_uid, 0)},
                )
                self._sink.pod(each.pod, event)
