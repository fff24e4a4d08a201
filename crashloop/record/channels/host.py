"""The host channels: stalls and clock steps of the machine, which affect the recorder and the kubelet alike; and run queues.

A heartbeat in its own thread: a late beat is a stall. Once a second the kernel's counts of CPU, I/O and memory
pressure (https://docs.kernel.org/accounting/psi.html), every 10 s and when UTC was stepped a reading of both clocks.

Run queues: for how long the kubelet and the runtime of each node were ready to run and had no CPU. The second figure of
/proc/<pid>/task/<tid>/schedstat is the time that a thread has waited on a run queue
(https://docs.kernel.org/scheduler/sched-stats.html), counted when the wait is over. A restart goes from thread to
thread, one after the other, so it cannot have waited for longer than all threads of the kubelet, the runtime and the pod's
own shim together, nor for longer than the time there was. The pod's shim stands for the one that waited most. What the kubelet
states waits for its own threads only. Only nodes on this host can be looked at.
"""

import contextlib
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import psutil

from crashloop.cluster.components import KUBELET, Components, ProcessRole
from crashloop.cluster.prerequisites import room_problem
from crashloop.cluster.processes import boot_id
from crashloop.cluster.provider import ClusterInfo, Node
from crashloop.errors import ClusterError
from crashloop.history.event import Event, Kind
from crashloop.record.channels.channel import Follower, Sink, now_ns, recorder_event

BEAT_NS = 100_000_000
LATE_NS = 50_000_000
"""A beat that comes later than this after it was due is a stall; Linux wakes a thread of an idle host within 1 ms."""
PRESSURE_NS = 1_000_000_000
CLOCKS_NS = 10_000_000_000
STEP_NS = 50_000_000
"""A change of UTC against boot time by more is a step; NTP slews by at most 0.5 ms a second."""

_PRESSURE = {"some_us": "cpu", "io_us": "io", "memory_us": "memory"}
"""Fields of an event, and their files in /proc/pressure."""


class Heartbeat:
    """When beats are due, and which come late. Pure: the caller gives the time."""

    def __init__(self, now_ns: int) -> None:
        self.due_ns = now_ns + BEAT_NS

    def beat(self, now_ns: int) -> int | None:
        """Take the beat that was due: by how much it came late if that is a stall. The next is due on the next tick."""
        late_ns = now_ns - self.due_ns
        self.due_ns += BEAT_NS * (max(late_ns, 0) // BEAT_NS + 1)
        return late_ns if late_ns > LATE_NS else None


class Clocks(msgspec.Struct, frozen=True, kw_only=True):
    """All clocks of the host at one moment."""

    utc_ns: int
    boot_ns: int
    monotonic_ns: int

    def step_since(self, before: "Clocks") -> int | None:
        """By how much UTC was stepped since an earlier reading; None if it was not."""
        step_ns = (self.utc_ns - self.boot_ns) - (before.utc_ns - before.boot_ns)
        return step_ns if abs(step_ns) > STEP_NS else None


def read_clocks() -> Clocks:
    """All clocks as nearly at once as possible: the tightest of three readings."""
    return min((_read_clocks() for _ in range(3)), key=lambda reading: reading[0])[1]


def _read_clocks() -> tuple[int, Clocks]:
    before_ns = time.monotonic_ns()
    boot_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    utc_ns = time.time_ns()
    after_ns = time.monotonic_ns()
    return after_ns - before_ns, Clocks(utc_ns=utc_ns, boot_ns=boot_ns, monotonic_ns=(before_ns + after_ns) // 2)


def clock_event(clocks: Clocks, step_ns: int | None = None) -> Event:
    """A reading of all clocks."""
    data: dict[str, Any] = {"boot_ns": clocks.boot_ns, "monotonic_ns": clocks.monotonic_ns, "boot_id": boot_id()}
    return recorder_event(Kind.CLOCK, clocks.utc_ns, data if step_ns is None else data | {"step_ns": step_ns})


def some_us(pressure: str) -> int:
    """The `total` of the line `some` of a pressure file, in microseconds."""
    (some,) = (line for line in pressure.splitlines() if line.startswith("some "))
    return int(some.rpartition("total=")[2])


class HostChannel(Follower):
    """Reports stalls, pressure and clocks of the host to every scenario, and ends the recording once the disk is full."""

    def __init__(self, sink: Sink) -> None:
        super().__init__("host")
        self._sink = sink
        self._state: Path | None = None

    def writes_to(self, state: Path) -> None:
        """Where a cluster on this host writes: without room there nothing answers, and that is no fault of a kubelet."""
        self._state = state

    def follow(self) -> None:
        heart = Heartbeat(time.monotonic_ns())
        clocks = written = read_clocks()
        stalled_us = _stalled_us()
        while not self.stopped.wait(max(heart.due_ns - time.monotonic_ns(), 0) / 1e9):
            due_ns = heart.due_ns
            late_ns = heart.beat(time.monotonic_ns())
            if late_ns is not None:
                due_utc_ns = time.time_ns() - (time.monotonic_ns() - due_ns)
                self._sink.everyone(recorder_event(Kind.STALL, due_utc_ns, {"stalled_ns": late_ns}))
            if time.monotonic_ns() - clocks.monotonic_ns < PRESSURE_NS - BEAT_NS // 2:
                continue
            if self._state is not None and (full := room_problem(self._state)):
                raise ClusterError(full)
            before, clocks = clocks, read_clocks()
            before_us, stalled_us = stalled_us, _stalled_us()
            grown_us = {name: grown(before_us[name], us) for name, us in stalled_us.items()}
            data = {**grown_us, "interval_ns": clocks.monotonic_ns - before.monotonic_ns}
            self._sink.everyone(recorder_event(Kind.PRESSURE, clocks.utc_ns, data))
            step_ns = clocks.step_since(before)
            if step_ns is not None or clocks.monotonic_ns - written.monotonic_ns >= CLOCKS_NS - BEAT_NS:
                written = clocks
                self._sink.everyone(clock_event(clocks, step_ns))


def grown(before: int | None, after: int | None) -> int | None:
    """The growth of a count; None without a count."""
    return None if before is None or after is None else after - before


def _stalled_us() -> dict[str, int | None]:
    """The counts since boot; None where the kernel has none."""
    return {name: _read_us(Path("/proc/pressure") / kind) for name, kind in _PRESSURE.items()}


def _read_us(path: Path) -> int | None:
    try:
        return some_us(path.read_text())
    except OSError:  # no such file, or a kernel that was started with psi=0
        return None


EVERY_S = 1.0
ACCUSED = frozenset({KUBELET, "runtime"})
_PROC = Path("/proc")

Waits = dict[int, int]
"""Nanoseconds that each thread has waited since it began, by thread id."""


def grown_ns(before: Mapping[int, int], after: Mapping[int, int]) -> list[int]:
    """For how long each thread of a process waited between two looks."""
    grown = [(ns, ns - before.get(thread, 0)) for thread, ns in after.items()]
    # A smaller figure is that of a new thread which has the id of one that is gone.
    return [ns if more < 0 else more for ns, more in grown]


def waited_ns(mains: Iterable[Iterable[int]], shims: Iterable[Iterable[int]], spent_ns: int) -> int:
    """The most that one restart can have waited in `spent_ns`, by the waits of the threads of every process.

    A single thread may have waited longer than that: its wait began before the first look and is counted now.
    """
    chain = [*mains, max(shims, key=sum, default=())]
    longest = max((ns for threads in chain for ns in threads), default=0)
    return min(sum(map(sum, chain)), max(spent_ns, longest))


def are_counted() -> bool:
    """Whether this kernel counts run-queue waits."""
    try:
        return int((_PROC / "self/schedstat").read_text().split()[0]) > 0
    except (OSError, ValueError, IndexError):
        return False


def read_waits(pid: int) -> Waits:
    """The waits of a process's threads. Raises OSError if it is gone."""
    found: Waits = {}
    for task in (_PROC / str(pid) / "task").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            found[int(task.name)] = int((task / "schedstat").read_text().split()[1])
    return found


class NodeProcesses:
    """Keeps track of the processes of kubelet, runtime and shims of a cluster's nodes."""

    def __init__(self, info: ClusterInfo) -> None:
        self._components = Components(info)
        self._members: dict[int, ProcessRole] = {}
        self._young: set[int] = set()
        """Met once and not recognized: what was forked a moment ago is not yet the program that it becomes."""
        self._strangers: set[int] = set()

    def look(self) -> dict[str, dict[int, ProcessRole]]:
        """The processes of each node whose kubelet is among them."""
        now = set(psutil.pids())
        self._strangers &= now
        for pid in self._members.keys() - now:
            del self._members[pid]
        met = {pid for pid in now - self._strangers - self._members.keys() if not self._recognizes(pid)}
        self._strangers |= met & self._young
        self._young = met - self._strangers
        nodes: dict[str, dict[int, ProcessRole]] = {
            each.node: {} for each in self._members.values() if each.component == KUBELET
        }
        for pid, each in self._members.items():
            if each.node in nodes:
                nodes[each.node][pid] = each
        return nodes

    def _recognizes(self, pid: int) -> bool:
        try:
            member = self._components.member(psutil.Process(pid))
        except (psutil.Error, OSError):
            return False
        if member is None or member.component not in ACCUSED or not member.node:
            return False
        self._members[pid] = member
        return True


class RunQueueChannel(Follower):
    """Reports the run-queue waits of every node on this host to its scenarios."""

    def __init__(self, sink: Sink) -> None:
        super().__init__("run-queues")
        self._sink = sink
        self._lock = threading.Lock()
        self._nodes: dict[str, Node] = {}
        self._processes: NodeProcesses | None = None
        self._waits: dict[int, Waits] = {}
        self._looked_ns = 0

    def start(self) -> None:
        if are_counted():
            super().start()

    def add_nodes(self, cluster: ClusterInfo) -> None:
        """From now on these nodes of the cluster are looked at, too."""
        with self._lock:
            self._nodes |= {node.name: node for node in cluster.nodes}
            self._processes = NodeProcesses(msgspec.structs.replace(cluster, nodes=tuple(self._nodes.values())))

    def follow(self) -> None:
        while not self.stopped.wait(EVERY_S):
            with self._lock:
                processes = self._processes
            if processes is not None:
                self._report(processes.look())

    def _report(self, nodes: Mapping[str, Mapping[int, ProcessRole]]) -> None:
        before, before_ns = self._waits, self._looked_ns
        self._waits, self._looked_ns = {}, time.monotonic_ns()
        spent_ns = self._looked_ns - before_ns
        for node, pids in nodes.items():
            # A process that is met only now may have waited long ago; what it waits for counts from now on.
            grown: list[tuple[ProcessRole, list[int]]] = []
            for pid, member in pids.items():
                with contextlib.suppress(OSError):
                    self._waits[pid] = read_waits(pid)
                    grown.append((member, grown_ns(before.get(pid, self._waits[pid]), self._waits[pid])))
            mains = [threads for member, threads in grown if member.is_main]
            if before_ns and mains:
                kubelets = [threads for member, threads in grown if member.component == KUBELET]
                waited = waited_ns(mains, [threads for member, threads in grown if not member.is_main], spent_ns)
                data = {
                    "waited_us": waited // 1_000,
                    "kubelet_us": waited_ns(kubelets, (), spent_ns) // 1_000,
                    "interval_ns": spent_ns,
                }
                self._sink.node(node, recorder_event(Kind.CPU_WAIT, now_ns(), data, node=node))
