"""The cgroups below which a cluster's containers live, on cgroup v1 and v2.

A kubelet's `cgroupRoot` must exist before it starts: in every v1 hierarchy, with cpuset filled in on each level
(an empty cpuset admits no process), or in the one v2 hierarchy, with the controllers delegated to every level.

A cluster keeps to the CPUs of the process that makes it (`taskset --cpu-list 0 crashloop ...`). What it starts inherits
them, but a process that enters a cgroup takes the CPUs of that: so the cluster's cgroup gets the same ones.

The cgroup at the top weighs what a thread of this process weighs if that is in the root cgroup: containers and the
kubelets that start them share the CPU alike at every niceness. Below another cgroup, such as a slice of systemd, all
kubelets together weigh what their cgroup weighs: a heavier neighbour would starve them, so the top keeps its default.
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from crashloop.errors import ClusterError
from crashloop.processors import weight
from crashloop.waiting import wait_until

_CPUS = "cpuset.cpus"
_CPUSET_FILES = (_CPUS, "cpuset.mems")
_CLUSTER_LEVEL = 1
"""A cgroup's path is the project's name, the cluster's and the node's."""
_WEIGHT_FILES = {"cpu.shares": 1024, "cpu.weight": 100}
"""Weights on cgroup v1 and v2, with their default."""
_NEEDED_V2 = ("cpuset", "cpu", "memory", "pids")
MADE_WITHIN_S = 1.0


class MissingControllers(ClusterError):
    """A cgroup has not all controllers. It may pass: systemd takes them back until a cgroup below hands them down."""


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
    if found["cgroup"]:
        return CgroupHost(version=1, mounts=tuple(dict.fromkeys(found["cgroup"] + found["cgroup2"])))
    return CgroupHost(version=2, mounts=tuple(found["cgroup2"][:1]))


def cgroup_host() -> CgroupHost:
    """How this host has cgroups mounted."""
    return detect(Path("/proc/self/mounts").read_text())


def make(host: CgroupHost, path: str) -> None:
    """Make a cgroup, given relative to the mount points, in every hierarchy, ready for a kubelet to use.

    Retries if another cluster, being removed at this moment, removes the shared parent, or if systemd takes controllers back.
    Raises ClusterError if it cannot be made.
    """

    def made() -> bool:
        for mount in host.mounts:
            _make_below(Path(mount), path, version=host.version)
        return True

    wait_until(
        f"cgroup {path} to be made", made, timeout_s=MADE_WITHIN_S, not_yet=(FileNotFoundError, MissingControllers)
    )


def _make_below(folder: Path, path: str, *, version: int) -> None:
    top = folder / Path(path).parts[0]
    for level, part in enumerate(Path(path).parts):
        if version == 2:
            _hand_down(folder)
        child = folder / part
        child.mkdir(exist_ok=True)
        if level == _CLUSTER_LEVEL:
            _keep_to_own_cpus(child)
        for name in _CPUSET_FILES:
            if version == 1 and (folder / name).exists() and not (child / name).read_text().strip():
                (child / name).write_text((folder / name).read_text())
        folder = child
    if version == 2:
        _hand_down(folder)
    if in_root_cgroup(Path("/proc/self/cgroup").read_text(), version=version):
        _weigh(top)


def in_root_cgroup(own: str, *, version: int) -> bool:
    """Whether a process shares the CPU as a thread of the root cgroup, by the text of its /proc/PID/cgroup (cgroups(7)). Pure."""
    rows = [line.split(":", 2) for line in own.splitlines()]
    cpu = "" if version == 2 else "cpu"
    return all(path == "/" for _, controllers, path in rows if cpu in controllers.split(","))


def _keep_to_own_cpus(folder: Path) -> None:
    file = folder / _CPUS
    if file.exists() and not file.read_text().strip():
        file.write_text(",".join(map(str, sorted(os.sched_getaffinity(0)))))


def _weigh(folder: Path) -> None:
    """Clusters share the cgroup at the top, and a lighter one takes no weight from it."""
    for name, default in _WEIGHT_FILES.items():
        file, due = folder / name, int(default * weight())
        if file.exists() and int(file.read_text()) < due:
            file.write_text(str(due))


def processes(host: CgroupHost, path: str) -> set[int]:
    """Ids of all processes in a cgroup and below."""
    found: set[int] = set()
    for mount in host.mounts:
        for folder in _bottom_up(Path(mount, path)):
            with contextlib.suppress(OSError):
                found.update(int(line) for line in (folder / "cgroup.procs").read_text().split())
    return found - {0}


def remove(host: CgroupHost, path: str, *, timeout_s: float = 10.0) -> None:
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

    wait_until(f"cgroups {path} to be removed", removed, timeout_s=timeout_s, last_seen=lambda: f"busy: {busy[:3]}")


def remove_if_empty(host: CgroupHost, path: str) -> None:
    """Remove a cgroup if nothing is below it and nothing in it."""
    for mount in host.mounts:
        with contextlib.suppress(OSError):
            Path(mount, path).rmdir()


def _hand_down(folder: Path) -> None:
    available = (folder / "cgroup.controllers").read_text().split()
    missing = [name for name in _NEEDED_V2 if name not in available]
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
            if controller[1:] in _NEEDED_V2:
                raise ClusterError(
                    f"cgroup {folder}: controller {controller[1:]} cannot be delegated ({error.strerror}).\n"
                    "In a container, run with the host's cgroup namespace (docker run --cgroupns=host --privileged)."
                ) from error


def _bottom_up(top: Path) -> Iterator[Path]:
    for folder, _, _ in os.walk(top, topdown=False):
        yield Path(folder)
