"""CPU, memory and other resources that a cluster's components, the harness and this host hold, as a source of metrics.

Source: proc_pid_stat(5), proc_pid_fd(5). A thread has a process id of its own, and so does a process that nobody has reaped.

Theory of operation. A component's CPU is the CPU of its processes and of their reaped children: a shim reaps runc and the
containers' processes, so both are part of the runtime's CPU. The harness counts without reaped children, since it may be
the parent of the cluster's daemons. The CPU of a process after its last sample is lost when it ends, unless its parent
belongs to the same component. A component's CPU never decreases.
"""

import contextlib
import os
import time
from collections.abc import Collection, Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import NamedTuple, TypeVar

import psutil

from crashloop.cluster.components import Components, ProcessRole
from crashloop.cluster.provider import Capability, ClusterInfo
from crashloop.processors import cpu_times
from crashloop.slo.exposition import SeriesKey

_PROC = Path("/proc")
_PARENT, _THREADS = 1, 17
"""Fields of /proc/PID/stat after the name."""

Key = TypeVar("Key")


class Held(NamedTuple):
    """Numbers, at one moment."""

    process_ids: int = 0
    open_files: int = 0
    sockets: int = 0
    """Of the open files."""


class _Process(NamedTuple):
    parent: int
    threads: int


def held_by(owners: Mapping[int, Key]) -> dict[Key, Held]:
    """What processes hold, each with all those below it that have no owner of their own. `owners` are by process id."""
    there = dict(_processes())
    found: dict[Key, Held] = {}
    for pid, process in there.items():
        top = pid
        while top not in owners and top in there:
            top = there[top].parent
        if top in owners:
            before, (files, sockets) = found.get(owners[top], Held()), _open_files(pid)
            mine = (process.threads, files, sockets)
            found[owners[top]] = Held(*(have + more for have, more in zip(before, mine, strict=True)))
    return found


def folder_of(info: ClusterInfo) -> Path | None:
    """The folder of this host that has all files of a cluster's nodes; None if they are elsewhere."""
    folder = Path(info.kubeconfig).parent
    logs = [Path(node.pod_logs or "/") for node in info.nodes]
    return folder if logs and all(folder in each.parents for each in logs) else None


def files_below(folder: Path) -> int:
    """Files and folders below a folder: each has an inode."""
    return sum(len(folders) + len(files) for _, folders, files in os.walk(folder))


def _processes() -> Iterator[tuple[int, _Process]]:
    for folder in _PROC.iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            yield int(folder.name), _Process(int(fields[_PARENT]), int(fields[_THREADS]))


def _open_files(pid: int) -> tuple[int, int]:
    """Open files, and how many of them are sockets; none of a process that ended meanwhile."""
    number = sockets = 0
    try:
        for each in os.scandir(_PROC / str(pid) / "fd"):
            number += 1
            sockets += _is_socket(each.path)
    except OSError:
        return 0, 0
    return number, sockets


def _is_socket(path: str) -> bool:
    try:
        return str(Path(path).readlink()).startswith("socket:")
    except OSError:
        return False


HARNESS = "harness"
MAY_BECOME_S = 15.0
"""Age from which on a process is no longer looked at for becoming another program."""

_PRESSURE = Path("/proc/pressure/cpu")

Sample = tuple[bytes, SeriesKey, float]
_Key = tuple[str, str]
"""Component and node."""


COUNTS_READS = hasattr(psutil.Process, "io_counters")
"""Whether the kernel says what processes read (CONFIG_TASK_IO_ACCOUNTING); without it only that is not measured."""


class _Spent(NamedTuple):
    """What processes and their reaped children have used so far."""

    cpu_s: float = 0.0
    read_bytes: float = 0.0
    """By read calls, from whatever: files in the page cache too."""

    def plus(self, other: "_Spent") -> "_Spent":
        return _Spent(self.cpu_s + other.cpu_s, self.read_bytes + other.read_bytes)

    def or_more(self, other: "_Spent") -> "_Spent":
        return _Spent(max(self.cpu_s, other.cpu_s), max(self.read_bytes, other.read_bytes))


class _Seen:
    """A process at its last sample."""

    def __init__(self, process: psutil.Process, member: ProcessRole) -> None:
        self.process = process
        self.member = member
        self.parent = 0
        self.spent = _Spent()
        self.rss = 0

    @property
    def key(self) -> _Key:
        return self.member.component, self.member.node

    def look(self) -> None:
        """Raises psutil.Error if it has gone."""
        with self.process.oneshot():
            self.parent = self.process.ppid()  # raises if the id is that of another process by now
            times = self.process.cpu_times()
            reaped = 0.0 if self.member.component == HARNESS else times.children_user + times.children_system
            # The kernel adds what reaped children read.
            read = self.process.io_counters().read_chars if COUNTS_READS and self.member.node else 0
            self.spent = _Spent(times.user + times.system + reaped, read)
            self.rss = self.process.memory_info().rss


class ProcessAccount:
    """Samples the processes of one cluster and of the harness."""

    def __init__(self, info: ClusterInfo, *, counts_held: bool = False) -> None:
        """The harness is this process, the named ones, and their descendants, without the cluster's processes.

        `counts_held`: also read crashloop.slo.scrapes.HELD.
        """
        self._components = Components(info) if Capability.NODES_ON_HOST in info.capabilities else None
        self._folder = folder_of(info)
        self._counts_held = counts_held
        self._roots = {os.getpid()}
        self._cpus = os.sched_getaffinity(0)
        """Those that the run and its cluster may use: the host, as far as they see one."""
        self._seen: dict[int, _Seen] = {}
        self._strangers: set[int] = set()
        self._ended: dict[_Key, _Spent] = {}
        """Of ended processes that no process of their component reaped."""
        self._highest: dict[_Key, _Spent] = {}
        self._restarts: dict[_Key, int] = {}
        self._began: set[_Key] = set()
        """Components whose program has run: another process of it is a restart."""

    def add_harness(self, pid: int) -> None:
        """One more process that belongs to the harness, such as the load generator."""
        self._roots.add(pid)
        self._strangers.discard(pid)

    def read(self) -> Iterator[Sample]:
        """The current values, in the form of a scrape."""
        self._look()
        alive: dict[_Key, list[_Seen]] = {key: [] for key in self._ended}
        for seen in self._seen.values():
            alive.setdefault(seen.key, []).append(seen)
        for key, there in alive.items():
            spent = reduce(_Spent.plus, (each.spent for each in there), self._ended.get(key, _Spent()))
            self._highest[key] = spent.or_more(self._highest.get(key, _Spent()))
            labels = {"component": key[0], "node": key[1]}
            yield _sample("component_cpu_seconds_total", labels, self._highest[key].cpu_s)
            if COUNTS_READS:
                yield _sample("component_read_bytes_total", labels, self._highest[key].read_bytes)
            yield _sample("component_resident_memory_bytes", labels, sum(each.rss for each in there))
            yield _sample("component_processes", labels, len(there))
            yield _sample("component_restarts_total", labels, self._restarts.get(key, 0))
        if self._counts_held:
            yield from self._held()
        if self._components is not None:
            yield from _host(self._cpus)

    def _held(self) -> Iterator[Sample]:
        """What the nodes' components hold, with the processes below them: those of the containers."""
        of_nodes = {pid: seen.key for pid, seen in self._seen.items() if seen.member.node}
        for (component, node), held in held_by(of_nodes).items():
            labels = {"component": component, "node": node}
            yield _sample("component_process_ids", labels, held.process_ids)
            yield _sample("component_open_files", labels, held.open_files)
            yield _sample("component_sockets", labels, held.sockets)
        if self._folder is not None:
            yield _sample("cluster_files", {}, files_below(self._folder))

    def _look(self) -> None:
        now = set(psutil.pids())
        self._strangers &= now
        # What the harness starts may become a component, too.
        settled = {pid for pid, seen in self._seen.items() if seen.member.component != HARNESS}
        for pid in now - self._strangers - settled:
            self._meet(pid)
        for process in self._harness():
            if process.pid not in self._seen:
                self._admit(process, ProcessRole(HARNESS, "", False))
        for pid, seen in list(self._seen.items()):
            try:
                seen.look()
            except psutil.Error:
                self._part(pid, seen)

    def _meet(self, pid: int) -> None:
        """A new process. A young one that is no component may become one: a script that starts the user's own kubelet."""
        with contextlib.suppress(psutil.Error, OSError):
            process = psutil.Process(pid)
            member = self._components.member(process) if self._components else None
            if member is not None:
                self._admit(process, member)
            elif time.time() - process.create_time() > MAY_BECOME_S:
                self._strangers.add(pid)

    def _admit(self, process: psutil.Process, member: ProcessRole) -> None:
        self._seen[process.pid] = _Seen(process, member)
        self._strangers.discard(process.pid)
        key = (member.component, member.node)
        if member.is_main and key in self._began:
            self._restarts[key] = self._restarts.get(key, 0) + 1
        if member.is_main:
            self._began.add(key)
            self._cpus.update(process.cpu_affinity())

    def _part(self, pid: int, seen: _Seen) -> None:
        """A process ended, or another process has its id."""
        del self._seen[pid]
        parent = self._seen.get(seen.parent)
        if parent is None or parent.member != seen.member or seen.member.component == HARNESS:
            self._ended[seen.key] = self._ended.get(seen.key, _Spent()).plus(seen.spent)

    def _harness(self) -> Iterator[psutil.Process]:
        """The processes of the harness: the trees below its roots, without the cluster's own branches."""
        for root in tuple(self._roots):  # another thread adds to them
            with contextlib.suppress(psutil.Error):
                top = psutil.Process(root)
                yield top
                yield from self._below(top)

    def _below(self, top: psutil.Process) -> Iterator[psutil.Process]:
        parts = {top.pid}
        # A parent comes before its children.
        for process in top.children(recursive=True):
            seen = self._seen.get(process.pid)
            if process.ppid() in parts and (seen is None or seen.member.component == HARNESS):
                parts.add(process.pid)
                yield process


def _host(cpus: Collection[int]) -> Iterator[Sample]:
    times = cpu_times(cpus)
    yield _sample("host_cpu_cores", {}, times.cores)
    yield _sample("host_cpu_seconds_total", {"mode": "idle"}, times.idle_s)
    yield _sample("host_cpu_seconds_total", {"mode": "busy"}, times.busy_s)
    with contextlib.suppress(OSError):
        some = next(line for line in _PRESSURE.read_text().splitlines() if line.startswith("some"))
        yield _sample("host_cpu_pressure_seconds_total", {}, int(some.rpartition("total=")[2]) / 1e6)


def _sample(name: str, labels: dict[str, str], value: float) -> Sample:
    key = f"{name}{sorted(labels.items())}".encode()
    return key, SeriesKey(name, labels), float(value)
