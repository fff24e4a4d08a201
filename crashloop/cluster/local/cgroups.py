"""The cgroups below which a cluster's containers live, on cgroup v1 and v2.

A kubelet's `cgroupRoot` must exist before it starts: in every v1 hierarchy, with cpuset filled in on each level
(an empty cpuset admits no process), or in the one v2 hierarchy, with the controllers delegated to every level.

A cluster keeps to the CPUs of the process that makes it (`taskset --cpu-list 0 crashloop ...`). What it starts inherits
them, but a process that enters a cgroup takes the CPUs of that: so the cluster's cgroup gets the same ones.

The cgroup at the top weighs what a thread of this process weighs: containers and the kubelets that start them share the CPU
alike at every niceness. That holds for kubelets in the root cgroup. Elsewhere, such as in a slice of systemd, they together weigh
what their cgroup weighs, and its limits and its end are theirs. So on v2 the process that makes a cluster moves into a cgroup
beside those of the clusters, and what it starts is there, too, until the last cluster is removed. On v1 the top keeps its
default then, since a heavier one would starve its kubelets.

In a container the root that it sees is an ordinary cgroup, which hands nothing down while processes are in it: they all move.
"""

import contextlib
import errno
import os
import sys
from collections.abc import Iterable, Iterator, Set
from math import ceil
from pathlib import Path
from typing import NamedTuple

import msgspec

from crashloop.cluster.processes import slowness
from crashloop.errors import ClusterError
from crashloop.processors import weight
from crashloop.waiting import WaitTimeout, wait_until

_CPUS = "cpuset.cpus"
_CPUSET_FILES = (_CPUS, "cpuset.mems")
PARENT = "crashloop"
DAEMONS = f"{PARENT}/_daemons"
"""Where daemons and recorder are, unless they are in the root cgroup; no cluster has such a name."""
_DAEMONS_WEIGHT = 400
"""As four clusters: on the root cgroup each thread of a kubelet weighs as much as all containers, and some run at once."""
UNIFIED = "/sys/fs/cgroup"
"""Where kubelet and runc look for v2 (IsCgroup2UnifiedMode of opencontainers/cgroups), whatever else is mounted elsewhere."""
_CLUSTER_LEVEL = 1
"""A cgroup's path is the project's name, the cluster's and the node's."""
_WEIGHT_FILES = {"cpu.shares": 1024, "cpu.weight": 100}
"""Weights on cgroup v1 and v2, with their default."""
NEEDED = {1: ("cpu", "cpuset", "devices", "freezer", "memory", "pids"), 2: ("cpu", "memory", "pids")}
"""By version of cgroups: controllers without which no kubelet runs a pod. On v2 one does without cpuset (seen on 1.37.1).

On v1 no sandbox starts without devices, and containerd takes a kill for memory for another exit without freezer (seen on 2.3.7).
"""
MADE_WITHIN_S = 1.0
REMOVED_WITHIN_S = 10.0
LEFT_WITHIN_S = 3.0
"""On a host of usual speed."""

_home = "/"
"""The cgroup that this process was in before it entered DAEMONS."""


class MissingControllers(ClusterError):
    """A cgroup has not all controllers, or cannot hand them down.

    It may pass: systemd takes them back until a cgroup below hands them down, and processes come back while a cluster is removed.
    """


class CgroupHost(msgspec.Struct, frozen=True, kw_only=True):
    """How the host has cgroups mounted."""

    version: int
    """1 or 2; a hybrid host, whose v2 hierarchy has no controllers that a kubelet needs, is 1."""
    mounts: tuple[str, ...]
    """Mount points of all hierarchies. On a hybrid host runc makes its cgroups in the v2 one, too."""


def detect(mounts: str) -> CgroupHost:
    """Read the text of /proc/self/mounts. Pure."""
    rows = [line.split() for line in mounts.splitlines()]
    found = {kind: [row[1] for row in rows if row[2] == kind] for kind in ("cgroup", "cgroup2")}
    if [row[2] for row in rows if row[1] == UNIFIED][-1:] == ["cgroup2"]:
        return CgroupHost(version=2, mounts=(UNIFIED,))
    if found["cgroup"]:
        return CgroupHost(version=1, mounts=tuple(dict.fromkeys(found["cgroup"] + found["cgroup2"])))
    return CgroupHost(version=2, mounts=())


def cgroup_host() -> CgroupHost:
    """How this host has cgroups mounted."""
    return detect(Path("/proc/self/mounts").read_text())


def make(host: CgroupHost, path: str) -> None:
    """Make a cgroup, given relative to the mount points, in every hierarchy, ready for a kubelet to use.

    Retries if another cluster, being removed at this moment, removes the shared parent, or if systemd takes controllers back.
    Raises ClusterError if it cannot be made.
    """
    cpus = os.sched_getaffinity(0)

    def made() -> bool:
        own = Path("/proc/self/cgroup").read_text()
        if host.version == 2:
            _enter(Path(host.mounts[0]), own_path(own))
        for mount in host.mounts:
            _make_below(Path(mount), path, version=host.version, cpus=cpus)
        if host.version == 2 or in_root_cgroup(own):
            for mount in host.mounts:
                _weigh(Path(mount, PARENT))
        return True

    not_yet = (FileNotFoundError, MissingControllers)
    wait_until(f"cgroup {path} to be made", made, timeout_s=MADE_WITHIN_S * slowness(), not_yet=not_yet)
    if os.sched_getaffinity(0) != cpus:  # before Linux 6.2 a thread takes all CPUs of a cgroup that it enters
        for thread in Path("/proc/self/task").iterdir():
            os.sched_setaffinity(int(thread.name), cpus)


def _make_below(folder: Path, path: str, *, version: int, cpus: Set[int]) -> None:
    for level, part in enumerate(Path(path).parts):
        if version == 2:
            _hand_down(folder)
        child = folder / part
        child.mkdir(exist_ok=True)
        if level == _CLUSTER_LEVEL:
            _keep_to(cpus, child)
        for name in _CPUSET_FILES:
            if version == 1 and (folder / name).exists() and not (child / name).read_text().strip():
                (child / name).write_text((folder / name).read_text())
        folder = child
    if version == 2:
        _hand_down(folder)


def own_path(own: str) -> str:
    """Path of a process in the v2 hierarchy, by the text of its /proc/PID/cgroup (cgroups(7)); the root's without one. Pure."""
    return next((line.removeprefix("0::") for line in own.splitlines() if line.startswith("0::")), "/")


def in_root_cgroup(own: str) -> bool:
    """Whether a process shares the CPU as a thread of v1's root cgroup, by the text of its /proc/PID/cgroup. Pure."""
    rows = [line.split(":", 2) for line in own.splitlines()]
    return all(path == "/" for _, controllers, path in rows if "cpu" in controllers.split(","))


def is_ordinary(root: Path) -> bool:
    """Whether the root of the hierarchy that is seen here is none for the kernel, but the cgroup of a container."""
    return (root / "cgroup.type").exists()


class Limits(NamedTuple):
    """What all that is in a container may use; the largest number without a limit."""

    memory_left: int = sys.maxsize
    """Bytes."""
    cpus: int = sys.maxsize
    """The quota, rounded up."""


def container_limits(host: CgroupHost) -> Limits:
    """By memory.max and cpu.max of the root that is seen on v2, which the kernel's root does not have (cgroup-v2.rst)."""
    if host.version == 1 or not host.mounts or not is_ordinary(root := Path(host.mounts[0])):
        return Limits()
    found = {
        name: (root / name).read_text().split() if (root / name).exists() else ["max"]
        for name in ("memory.max", "memory.current", "cpu.max")
    }
    most, quota = found["memory.max"][0], found["cpu.max"][0]
    return Limits(
        memory_left=sys.maxsize if most == "max" else max(int(most) - int(found["memory.current"][0]), 0),
        cpus=sys.maxsize if quota == "max" else ceil(int(quota) / int(found["cpu.max"][1])),
    )


def tasks_left(host: CgroupHost, own: str) -> int:
    """How many processes and threads pids.max lets start: on v1 of the cgroup `own` names (/proc/self/cgroup) and those above it,
    on v2 of the root that is seen, as all of a cluster is below that. The largest number without a limit.
    """
    rows = [line.split(":", 2) for line in own.splitlines()]
    path = next((path for _, controllers, path in rows if host.version == 1 and "pids" in controllers.split(",")), "/")
    seen = Path(path) if ".." not in Path(path).parts else Path("/")
    limits = [Path(mount + str(each), "pids.max") for mount in host.mounts for each in (seen, *seen.parents)]
    found = {each: text for each in limits if each.exists() and (text := each.read_text().strip()) != "max"}
    return min(
        (int(text) - int(each.with_name("pids.current").read_text()) for each, text in found.items()),
        default=sys.maxsize,
    )


def _enter(root: Path, own: str) -> None:
    """Move this process beside the clusters' cgroups, unless it is in the kernel's root, and what a container's root holds."""
    global _home
    is_container = is_ordinary(root)
    if own == "/" and not is_container:
        return
    leaf = root / DAEMONS
    leaf.mkdir(parents=True, exist_ok=True)
    if own != f"/{DAEMONS}" and not own.startswith("/../"):  # as it is shown to a process from outside of a container
        _home = own
        _move([os.getpid()], leaf)
    if is_container:
        _move(_members(root), leaf)


def _members(folder: Path) -> list[int]:
    """Without those of other PID namespaces, which are all called 0."""
    return [int(line) for line in (folder / "cgroup.procs").read_text().split() if line != "0"]


def _move(pids: Iterable[int], folder: Path) -> None:
    for pid in pids:
        try:
            (folder / "cgroup.procs").write_text(str(pid))
        except ProcessLookupError:
            continue
        except OSError as error:
            raise MissingControllers(f"cgroup {folder}: process {pid} cannot enter it ({error.strerror}).") from error


def leave(host: CgroupHost) -> None:
    """Give up the cgroup at the top after the last cluster; who is in that of the daemons goes where this process came from."""
    if host.version == 1:
        remove_if_empty(host, PARENT)
        return
    root = Path(host.mounts[0])
    top, leaf = root / PARENT, root / DAEMONS

    def left() -> bool:
        """Again after a fork, and until the kernel has forgotten the daemons that were killed."""
        if not top.exists() or any(folder != leaf for folder in top.iterdir() if folder.is_dir()):
            return True
        if leaf.exists():
            _send_home(root, _members(leaf))
            leaf.rmdir()
        top.rmdir()
        return True

    with contextlib.suppress(WaitTimeout):
        within_s, not_yet = LEFT_WITHIN_S * slowness(), (OSError, MissingControllers)
        wait_until("the daemons' cgroup to be removed", left, timeout_s=within_s, not_yet=not_yet)


def _send_home(root: Path, pids: list[int]) -> None:
    if pids and _home == "/" and is_ordinary(root):
        for folder in (root / PARENT, root):
            for controller in (folder / "cgroup.subtree_control").read_text().split():
                (folder / "cgroup.subtree_control").write_text(f"-{controller}")
    home = root / _home.lstrip("/")
    _move(pids, home if home.exists() else root)


def _keep_to(cpus: Set[int], folder: Path) -> None:
    file = folder / _CPUS
    if file.exists() and not file.read_text().strip():
        file.write_text(",".join(map(str, sorted(cpus))))


def _weigh(folder: Path) -> None:
    """Clusters share the cgroup at the top, and a lighter one takes no weight from it."""
    for name, default in _WEIGHT_FILES.items():
        file, due = folder / name, int(default * weight())
        if file.exists() and int(file.read_text()) < due:
            file.write_text(str(due))
    daemons = folder.parent / DAEMONS / "cpu.weight"
    if daemons.exists():
        daemons.write_text(str(_DAEMONS_WEIGHT))


def processes(host: CgroupHost, path: str) -> set[int]:
    """Ids of all processes in a cgroup and below."""
    found: set[int] = set()
    for mount in host.mounts:
        for folder in _bottom_up(Path(mount, path)):
            with contextlib.suppress(OSError):
                found.update(int(line) for line in (folder / "cgroup.procs").read_text().split())
    return found - {0}


def remove(host: CgroupHost, path: str, *, within_s: float = REMOVED_WITHIN_S) -> None:
    """Remove a cgroup and everything below it, after its processes ended. Raises ClusterError if it stays busy."""
    busy: list[str] = []

    def removed() -> bool:
        busy.clear()
        for mount in host.mounts:
            for folder in _bottom_up(Path(mount, path)):
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    continue
                except OSError as error:
                    if error.errno not in (errno.EBUSY, errno.ENOTEMPTY):
                        raise ClusterError(f"cgroup {folder}: cannot be removed ({error.strerror}).") from error
                    busy.append(str(folder))
        return not busy

    seen, timeout_s = (lambda: f"busy: {busy[:3]}"), within_s * slowness()
    wait_until(f"cgroups {path} to be removed", removed, timeout_s=timeout_s, last_seen=seen)


def remove_if_empty(host: CgroupHost, path: str) -> None:
    """Remove a cgroup if nothing is below it and nothing in it."""
    for mount in host.mounts:
        with contextlib.suppress(OSError):
            Path(mount, path).rmdir()


def _hand_down(folder: Path) -> None:
    available = (folder / "cgroup.controllers").read_text().split()
    missing = [name for name in NEEDED[2] if name not in available]
    if missing:
        raise MissingControllers(
            f"cgroup {folder}: controllers {', '.join(missing)} are not available to it, but a kubelet needs them.\n"
            "Enable them in cgroup.subtree_control of the cgroup above it."
        )
    handed = (folder / "cgroup.subtree_control").read_text().split()
    wanted = [f"+{name}" for name in available if name not in handed]
    for controller in wanted:
        try:
            (folder / "cgroup.subtree_control").write_text(controller)
        except OSError as error:
            if controller[1:] in NEEDED[2]:
                raise MissingControllers(
                    f"cgroup {folder}: controller {controller[1:]} cannot be handed down ({error.strerror}).\n"
                    "In a container, run with the host's cgroup namespace (docker run --cgroupns=host --privileged)."
                ) from error


def _bottom_up(top: Path) -> Iterator[Path]:
    for folder, _, _ in os.walk(top, topdown=False):
        yield Path(folder)
