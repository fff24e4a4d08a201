"""The run-queue channel: for how long the kubelet and the runtime of each node were ready to run and had no CPU.

Theory of operation. The second figure of /proc/<pid>/task/<tid>/schedstat is the time that a thread has waited on a run
queue (https://docs.kernel.org/scheduler/sched-stats.html), counted when the wait is over. A restart goes from thread to
thread, one after the other, so it cannot have waited for longer than all threads of the kubelet, the runtime and the pod's
own shim together, nor for longer than the time there was. The pod's shim stands for the one that waited most. What the kubelet
states waits for its own threads only. Only nodes on this host can be looked at.
"""

import contextlib
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import psutil

from crashloop.cluster.processes import KUBELET, Components, ProcessRole
from crashloop.cluster.provider import ClusterInfo, Node
from crashloop.history.event import Kind
from crashloop.record.channels.channel import Follower, Sink, now_ns, recorder_event

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
