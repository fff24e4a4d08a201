"""The kubelet's log channel: starts that the kubelet held back or failed to make, and its restarts. One thread for all nodes.

Source of the lines: k8s.io/klog/v2 (header `Lmmdd hh:mm:ss.uuuuuu pid file:line]`), for the text of a backoff
pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1, doBackOff, and for that of a failed start
pkg/kubelet/container/sync_result.go@v1.37.1 and pkg/kubelet/pod_workers.go@v1.37.1. Their number and times are judged.
"""

import logging
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from crashloop.history.event import Channel, Event, Kind
from crashloop.record.channels.channel import Follower, Sink, now_ns
from crashloop.spec.duration import duration_seconds

_HEADER = re.compile(r"[IWEF](?P<stamp>\d{4} \d\d:\d\d:\d\d\.\d{6})\s+(?P<pid>\d+) ")
_BACKOFF = re.compile(
    r"back-off (?P<delay>\S+) restarting failed container=(?P<container>\S+) "
    r"pod=(?P<pod>[^_\s]+)_(?P<namespace>[^(\s]+)\((?P<uid>[^)\s]+)\)"
)
_FAILED = re.compile(r'failed to \\"StartContainer\\" for \\"(?P<container>[^"\\]+)\\" with (?!CrashLoopBackOff)')
_POD = re.compile(r' pod="(?P<namespace>[^/"]+)/(?P<pod>[^"]+)" podUID="(?P<uid>[^"]+)"')
_SYNC_FAILED = '] "Error syncing pod, skipping" '
"""Of what a sync says itself; other lines quote it, as one about a status that could not be written does."""
_UID = re.compile(r'podUID="(?P<uid>[^"]+)"|event=\{"ID":"(?P<event>[^"]+)"')
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Header(msgspec.Struct, frozen=True):
    """Who wrote a line, and when (UTC)."""

    pid: int
    t_ns: int


class NoStart(msgspec.Struct, frozen=True, kw_only=True):
    """A container that a sync did not start."""

    delay_s: float | None
    """The delay that held it back; None: the start failed."""
    container: str
    pod: str
    namespace: str
    pod_uid: str


def read_header(line: str, now: datetime, zone: timedelta = timedelta(0)) -> Header | None:
    """The header of a line that was read at `now` (UTC); None if it has none.

    klog writes neither the year, which is chosen so that the line is nearest to `now`, nor the zone.
    """
    match = _HEADER.match(line)
    if match is None:
        return None
    years = (now.year - 1, now.year, now.year + 1)
    readings = [reading - zone for year in years if (reading := _stamp_in_year(match["stamp"], year)) is not None]
    if not readings:
        return None
    since_epoch = min(readings, key=lambda reading: abs(reading - now)) - _EPOCH
    return Header(pid=int(match["pid"]), t_ns=since_epoch // timedelta(microseconds=1) * 1000)


def zone_of(lines: Sequence[str], now: datetime, local: timedelta) -> timedelta:
    """The zone of a log whose last lines were read at `now`: the host's, or UTC as in most containers; the nearer one."""
    for line in reversed(lines):
        header = read_header(line, now)
        if header is not None:
            ahead = timedelta(microseconds=header.t_ns // 1000) - (now - _EPOCH)
            return min((local, timedelta(0)), key=lambda zone: abs(ahead - zone))
    return local


def _stamp_in_year(stamp: str, year: int) -> datetime | None:
    try:
        return datetime.strptime(f"{year}{stamp}", "%Y%m%d %H:%M:%S.%f").replace(tzinfo=UTC)
    except ValueError:
        return None  # 29 February of another year


def pod_of(line: str) -> str | None:
    """The uid of the pod that a line is about; None if it names none."""
    match = _UID.search(line)
    return None if match is None else match["uid"] or match["event"]


def no_starts(line: str) -> Iterator[NoStart]:
    """The containers that were not started, by a line, each once."""
    yield from _failed_starts(line)
    found = (
        NoStart(
            delay_s=duration_seconds(match["delay"]),
            container=match["container"],
            pod=match["pod"],
            namespace=match["namespace"],
            pod_uid=match["uid"],
        )
        for match in _BACKOFF.finditer(line)
    )
    yield from dict.fromkeys(found)


def _failed_starts(line: str) -> Iterator[NoStart]:
    pod = _POD.search(line)
    if pod is not None:
        for name in dict.fromkeys(match["container"] for match in _FAILED.finditer(line)):
            yield NoStart(delay_s=None, container=name, pod=pod["pod"], namespace=pod["namespace"], pod_uid=pod["uid"])


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
        zone = zone_of(lines, now, timedelta(seconds=time.localtime().tm_gmtoff))
        for line in lines:
            self._notice_process(node, line, now, zone)
            about = pod_of(line)
            if about is not None:
                self._pod_bytes[about] += len(line.encode()) + 1
            if _SYNC_FAILED in line:
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
