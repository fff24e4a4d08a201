"""The run-queue channel: for how long the kubelet and the runtime of each node were ready to run and had no CPU.

Theory of operation. The second figure of /proc/<pid>/task/<tid>/schedstat is the time that a thread has waited on a run
queue (https://docs.kernel.org/scheduler/sched-stats.html), counted when the wait is over. A restart goes from thread to
thread, one after the other, so it cannot have waited for longer than all threads of kubelet, runtime and shims together,
nor for longer than the time there was. Only nodes on this host can be looked at.
"""

import contextlib
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

from crashloop.cluster.node_processes import Components
from crashloop.cluster.provider import ClusterInfo
from crashloop.history.event import Kind
from crashloop.record.channels.events import Sink, now_ns, recorder_event

EVERY_S = 1.0
ACCUSED = frozenset({"kubelet", "runtime"})
_PROC = Path("/proc")

Waits = dict[int, int]
"""Nanoseconds that each thread has waited since it began, by thread id."""


def waited_ns(before: Mapping[int, int], after: Mapping[int, int], spent_ns: int) -> int:
    """For how long threads waited between two looks: all together, and no longer than there was time.

    A single thread may have waited longer than that: its wait began before the first look and is counted now.
    """
    grown = [ns - before.get(thread, 0) for thread, ns in after.items()]
    # A smaller figure is that of a new thread which has the id of one that is gone.
    waited = [ns if more < 0 else more for more, ns in zip(grown, after.values(), strict=True)]
    return min(sum(waited), max(spent_ns, max(waited, default=0)))


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
        self._of_node: dict[int, str] = {}
        self._kubelets: set[int] = set()
        self._young: set[int] = set()
        """Met once and not recognized: what was forked a moment ago is not yet the program that it becomes."""
        self._strangers: set[int] = set()

    def look(self) -> dict[str, set[int]]:
        """The processes of each node whose kubelet is among them."""
        now = set(psutil.pids())
        self._strangers &= now
        for pid in self._of_node.keys() - now:
            del self._of_node[pid]
            self._kubelets.discard(pid)
        met = {pid for pid in now - self._strangers - self._of_node.keys() if not self._recognizes(pid)}
        self._strangers |= met & self._young
        self._young = met - self._strangers
        nodes: dict[str, set[int]] = {self._of_node[pid]: set() for pid in self._kubelets}
        for pid, node in self._of_node.items():
            if node in nodes:
                nodes[node].add(pid)
        return nodes

    def _recognizes(self, pid: int) -> bool:
        try:
            member = self._components.member(psutil.Process(pid))
        except (psutil.Error, OSError):
            return False
        if member is None or member.component not in ACCUSED or not member.node:
            return False
        self._of_node[pid] = member.node
        if member.component == "kubelet":
            self._kubelets.add(pid)
        return True


class RunQueueChannel:
    """Reports the run-queue waits of every node on this host to its scenarios, from `start` to `stop`."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._lock = threading.Lock()
        self._processes: NodeProcesses | None = None
        self._waits: dict[int, Waits] = {}
        self._looked_ns = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="run-queues", daemon=True)

    def start(self) -> None:
        if are_counted():
            self._thread.start()

    def set_cluster(self, info: ClusterInfo) -> None:
        """From now on these nodes are looked at."""
        with self._lock:
            self._processes = NodeProcesses(info)

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=1.0)

    def _watch(self) -> None:
        while not self._stopped.wait(EVERY_S):
            with self._lock:
                processes = self._processes
            if processes is not None:
                self._report(processes.look())

    def _report(self, nodes: Mapping[str, Iterable[int]]) -> None:
        before, before_ns = self._waits, self._looked_ns
        self._waits, self._looked_ns = {}, time.monotonic_ns()
        spent_ns = self._looked_ns - before_ns
        for node, pids in nodes.items():
            known, found = Waits(), Waits()
            for pid in pids:
                with contextlib.suppress(OSError):
                    self._waits[pid] = read_waits(pid)
                    # A process that is met only now may have waited long ago; what it waits for counts from now on.
                    known |= before.get(pid, self._waits[pid])
                    found |= self._waits[pid]
            if before_ns and known:
                data = {"waited_us": waited_ns(known, found, spent_ns) // 1_000, "interval_ns": spent_ns}
                self._sink.node(node, recorder_event(Kind.CPU_WAIT, now_ns(), data, node=node))
