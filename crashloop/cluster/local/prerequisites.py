"""Prerequisites of the provider `local`, of host and request; everything missing is reported at once.

Facts about the host are gathered once, on any system and for any user, and judged apart from that.
"""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil

from crashloop.cluster import processes
from crashloop.cluster.local.cgroups import NEEDED, UNIFIED, CgroupHost, cgroup_host, container_limits, tasks_left
from crashloop.cluster.local.credentials import LONGEST_COMMON_NAME
from crashloop.cluster.local.kernel_modules import Support, file_system
from crashloop.cluster.local.namespaces import try_links, try_namespaces
from crashloop.cluster.local.node import NODE_USER
from crashloop.cluster.local.plan import LONGEST_SOCKET_PATH, MOST_NODES, ClusterLayout
from crashloop.cluster.prerequisites import (
    CONTROL_PLANE_INOTIFY,
    MIB,
    NODE_INOTIFY,
    Inotify,
    Problem,
    check_names,
    inotify_of_host,
    inotify_problems,
    limit_problems,
    limits_too_low,
    memory_problems,
    require_none,
)
from crashloop.cluster.provider import ClusterRequest, Progress
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.processors import available_processors

TOOLS = {
    "nsenter": "util-linux",
    "mount": "mount",
    "umount": "mount",
    "taskset": "util-linux",
    "nproc": "coreutils",
    "sleep": "coreutils",
    "true": "coreutils",
    "grep": "grep",
    "sed": "sed",
    "sh": "dash",
}
"""Plain tool that nodes need -> its Debian package."""


class HostFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a host; sizes in bytes."""

    system: str
    """sys.platform."""
    root: bool
    user_namespace: bool
    """Whether this process is in another user namespace than the kernel's first."""
    capabilities: int
    """Effective capabilities of this process, a bit each (capabilities(7))."""
    missing_tools: tuple[str, ...]
    can_install: bool
    """Whether apt-get can install plain tools."""
    cgroups: CgroupHost
    read_only_cgroups: tuple[str, ...]
    """Mount points of them."""
    controllers: frozenset[str]
    namespaces: str
    """What a trial of a node's namespaces printed; empty if it worked or this user is not root."""
    links: str
    """What a trial of a node's network printed; the same."""
    overlay: Support
    """Of file systems of that type, in which containers run."""
    release: str
    """Of the kernel."""
    state_filesystem: str
    state_writable: bool
    state_free: int
    state_files: int
    """How many files may still be made there; the largest number where that is not counted."""
    memory_available: int
    cores: int
    tasks_left: int
    """Processes and threads that may still start."""
    limits: dict[str, int]
    """By the name of `resource`: what a process may have of it, where that is too little and cannot be raised."""
    inotify: Inotify
    not_executable: tuple[str, ...]
    """Folders that this program starts programs from, on file systems that are mounted noexec."""
    kernel_messages: bool
    """Whether root can read /dev/kmsg; the kubelet's watcher of out-of-memory kills does not start without it."""


def _is_visible(folder: Path) -> bool:
    """Whether it exists, as far as this user can see."""
    try:
        return folder.exists()
    except PermissionError:
        return False


def room(cgroups: CgroupHost) -> tuple[int, int]:
    """CPUs and bytes of memory for a cluster, by what the host has and by what a container's limits leave of it.

    Raises PrerequisiteError where /proc shows processes alone, as with the mount option subset=pid: nothing runs there.
    """
    limits = container_limits(cgroups)
    try:
        available = psutil.virtual_memory().available
    except FileNotFoundError as error:
        raise PrerequisiteError(f"{error.filename}: this host hides it; mount a whole /proc (proc(5)).") from error
    return min(available_processors(), limits.cpus), min(available, limits.memory_left)


def _existing(folder: Path) -> Path:
    """The folder, or the one above it in which it would be made."""
    return next(each for each in (folder, *folder.parents) if _is_visible(each))


_FIRST_USER_NAMESPACE = 0xEFFFFFFD
"""PROC_USER_INIT_INO of include/linux/proc_ns.h."""


def host_facts(state_dir: Path, cache_dir: Path) -> HostFacts:
    """Facts about this host. Works on any system and for any user, with fewer facts."""
    linux = sys.platform == "linux"
    root = os.geteuid() == 0
    cgroups = cgroup_host() if linux else CgroupHost(version=2, mounts=())
    cores, memory_available = room(cgroups)
    existing = _existing(state_dir)
    real, kinds = existing.resolve(), {each.mountpoint: each.fstype for each in psutil.disk_partitions(all=True)}
    programs = [folder for folder in (_existing(cache_dir),) if os.statvfs(folder).f_flag & os.ST_NOEXEC]
    return HostFacts(
        system=sys.platform,
        root=root,
        user_namespace=linux and Path("/proc/self/ns/user").stat().st_ino != _FIRST_USER_NAMESPACE,
        capabilities=_effective_capabilities(),
        missing_tools=tuple(tool for tool in TOOLS if shutil.which(tool) is None),
        can_install=os.geteuid() == 0 and shutil.which("apt-get") is not None,
        cgroups=cgroups,
        read_only_cgroups=tuple(each for each in cgroups.mounts if _is_read_only(Path(each))),
        controllers=_available_controllers(cgroups),
        namespaces=try_namespaces() if linux and root else "",
        links=try_links() if linux and root else "",
        overlay=file_system("overlay"),
        release=platform.release(),
        state_filesystem=next((kinds[str(each)] for each in (real, *real.parents) if str(each) in kinds), ""),
        state_writable=not _is_read_only(existing),
        state_free=shutil.disk_usage(existing).free,
        state_files=found.f_favail if (found := os.statvfs(existing)).f_files else sys.maxsize,
        memory_available=memory_available,
        cores=cores,
        tasks_left=tasks_left(cgroups, _text_or_nothing(Path("/proc/self/cgroup"))),
        limits=limits_too_low(),
        inotify=inotify_of_host(),
        not_executable=tuple(map(str, programs)),
        kernel_messages=_is_readable(Path("/dev/kmsg")) if root else Path("/dev/kmsg").exists(),
    )


def _is_readable(device: Path) -> bool:
    try:
        os.close(os.open(device, os.O_RDONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def _is_read_only(folder: Path) -> bool:
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def _effective_capabilities() -> int:
    for line in _text_or_nothing(Path("/proc/self/status")).splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return 0


def _available_controllers(cgroups: CgroupHost) -> frozenset[str]:
    if cgroups.version == 2:
        mounts = cgroups.mounts[:1]
        return frozenset(
            name for mount in mounts for name in _text_or_nothing(Path(mount, "cgroup.controllers")).split()
        )
    rows = [line.split() for line in _text_or_nothing(Path("/proc/self/mounts")).splitlines()]
    return frozenset(option for row in rows if row[2] == "cgroup" for option in row[3].split(","))


def _text_or_nothing(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


FREE_DISK = 1024 * MIB
FREE_FILES = 500
CONTROL_PLANE_TASKS, NODE_TASKS = 35, 20
"""Measured, of one node without pods: 393 files; 33 and 20 processes and threads."""
_NEEDED_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21, "CAP_SYS_PTRACE": 19, "CAP_MKNOD": 27}
_INSTALL_S = 300.0


def check_host(facts: HostFacts, *, nodes: int) -> None:
    """Raise one PrerequisiteError that lists every problem with its remedy."""
    require_none(
        problems(facts, nodes=nodes),
        failure=f"provider local: this host cannot run {f'{nodes} nodes' if nodes else 'a cluster'}.",
        alternative="Other providers: --provider kind needs Docker, --provider existing needs a kubeconfig.",
    )


def problems(facts: HostFacts, *, nodes: int) -> Iterator[Problem]:
    """Every problem of the host. Pure."""
    if facts.system != "linux":
        yield Problem("system", f"{facts.system}; nodes need Linux: use a virtual machine.")
        return
    yield from _rights_problems(facts)
    missing = () if facts.can_install else facts.missing_tools
    if missing:
        packages = ", ".join(dict.fromkeys(TOOLS[tool] for tool in missing))
        yield Problem("tools", f"not on PATH: {', '.join(missing)}: install {packages} (Debian's package names).")
    yield from _trial_problems(facts)
    yield from _file_system_problems(facts)
    yield from _cgroup_problems(facts)
    if not facts.kernel_messages and not facts.user_namespace:
        yield Problem(
            "/dev/kmsg",
            "cannot be read, and no kubelet starts without it: start the container with --device /dev/kmsg --cap-add SYSLOG.",
        )
    yield from _size_problems(facts, nodes)


def _rights_problems(facts: HostFacts) -> Iterator[Problem]:
    if not facts.root:
        yield Problem("rights", "this user is not root: run the same command with sudo.")
        return
    if facts.user_namespace:
        yield Problem(
            "rights",
            "root of a user namespace, who may not change the settings of the host that every kubelet changes: "
            "run it as the host's root, or in a container that is not rootless.",
        )
        return
    lacking = [name for name, bit in _NEEDED_CAPABILITIES.items() if not facts.capabilities >> bit & 1]
    if lacking:
        yield Problem("rights", f"root lacks {', '.join(lacking)}: start the container with --privileged.")


_REMEDIES = {
    "No space left": "a limit on namespaces is 0: raise user.max_net_namespaces and user.max_mnt_namespaces with sysctl.",
    "cannot be made": "every node mounts a folder of its own there: make it, or its file system writable.",
    "cannot be written": "a kubelet changes it: start the container with --privileged.",
    "ermission denied": "a security module forbids it: unload its profile (`aa-status`), "
    "or start the container with --privileged.",
    "not permitted": "a filter of system calls forbids it: start the container with --privileged.",
    "not supported": "the kernel has no module of it: load veth and bridge with modprobe, on a container's host if this is one.",
}
"""Part of what a trial printed -> cause and remedy."""


def _trial_problems(facts: HostFacts) -> Iterator[Problem]:
    """Of a host whose rights suffice: without them a trial fails for that reason."""
    if facts.user_namespace or any(True for _ in _rights_problems(facts)):
        return
    for subject, printed in (("namespaces", facts.namespaces), ("network links", facts.links)):
        if printed:
            known = (text for part, text in _REMEDIES.items() if part in printed)
            remedy = next(known, "see whether `unshare --net --mount true` works as root.")
            yield Problem(subject, f"a trial ended with {printed!r}; {remedy}")


def _file_system_problems(facts: HostFacts) -> Iterator[Problem]:
    if facts.overlay is Support.FORBIDDEN:
        yield Problem(
            "overlay",
            "a rule of modprobe.d, or kernel.modules_disabled, keeps its module from being loaded: remove it, or run "
            "`modprobe --ignore-install overlay`, at boot where no module may be loaded later.",
        )
    elif facts.overlay is Support.NONE:
        yield Problem(
            "overlay",
            f"the kernel has no overlay file system, and no module of it lies in /lib/modules/{facts.release}: "
            "run `modprobe overlay`, on a container's host if this is one.",
        )
    for folder in facts.not_executable:
        yield Problem(
            "cache folder", f"no program runs from {folder}, which is mounted noexec: see CRASHLOOP_CACHE_DIR."
        )
    if not facts.state_writable:
        yield Problem(
            "state folder", "lies on a read-only file system: set CRASHLOOP_STATE_DIR to a folder on another one."
        )
    if facts.state_filesystem == "overlay":
        yield Problem(
            "state folder",
            "lies on an overlay file system, on which containers' overlay file systems cannot be stacked: "
            "set CRASHLOOP_STATE_DIR to a folder on a disk or a volume.",
        )


def _cgroup_problems(facts: HostFacts) -> Iterator[Problem]:
    missing = [name for name in NEEDED[facts.cgroups.version] if name not in facts.controllers]
    if not facts.cgroups.mounts:
        yield Problem("cgroups", f"none are where a kubelet looks: `mount -t cgroup2 cgroup2 {UNIFIED}`.")
    elif facts.read_only_cgroups:
        first = facts.read_only_cgroups[0]
        text = f"mounted read-only: start the container with --privileged, or `mount -o remount,rw {first}`."
        yield Problem("cgroups", text)
    elif missing:
        yield Problem(
            "cgroups",
            f"v{facts.cgroups.version} without controller {', '.join(missing)}: enable it on the kernel's command line, "
            "or in the cgroup.subtree_control above that of the container; on v2 unmount a v1 hierarchy that holds it.",
        )


def _size_problems(facts: HostFacts, nodes: int) -> Iterator[Problem]:
    yield from memory_problems(facts.memory_available, nodes=nodes)
    if facts.state_free < FREE_DISK:
        free = facts.state_free // MIB
        yield Problem("disk", f"{free} MiB are free, {FREE_DISK // MIB} MiB are needed: see CRASHLOOP_STATE_DIR.")
    if facts.state_files < FREE_FILES:
        text = f"{facts.state_files} more files fit, {FREE_FILES} are needed: see CRASHLOOP_STATE_DIR."
        yield Problem("disk", text)
    if facts.tasks_left < (needed := CONTROL_PLANE_TASKS + nodes * NODE_TASKS):
        text = f"{facts.tasks_left} may start, {needed} are needed: raise pids.max (of a container: --pids-limit -1)."
        yield Problem("processes", text)
    yield from limit_problems(facts.limits)
    yield from inotify_problems(facts.inotify, needed=CONTROL_PLANE_INOTIFY + nodes * NODE_INOTIFY)


def install_missing_tools(facts: HostFacts, progress: Progress) -> None:
    """Install plain tools with apt-get on Debian and Ubuntu; never a package that starts a service."""
    if facts.missing_tools and facts.can_install:
        packages = list(dict.fromkeys(TOOLS[tool] for tool in facts.missing_tools))
        with progress.step(f"apt-get install {' '.join(packages)}"):
            command = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
            processes.run(command, describe="apt-get", timeout_s=_INSTALL_S, env={"DEBIAN_FRONTEND": "noninteractive"})


def check_request(request: ClusterRequest, *, state_folder: Path) -> None:
    """Raise UsageError for invalid names or too many nodes."""
    check_names(request, most_nodes=MOST_NODES)
    longest = LONGEST_COMMON_NAME - len(NODE_USER)
    for node in request.nodes:
        if len(node.name) > longest:
            raise UsageError(
                f"cluster {request.name!r}: node {node.name!r}: a name has at most {longest} characters, "
                "which fit into a certificate."
            )
    socket = str(ClusterLayout(state_folder).node("any", MOST_NODES).longest_socket())
    if len(socket) > LONGEST_SOCKET_PATH:
        raise UsageError(
            f"cluster {request.name!r}: the path of a kubelet's socket would have {len(socket)} bytes ({socket}), "
            f"at most {LONGEST_SOCKET_PATH} fit.\nChoose a shorter name, or a shorter folder with CRASHLOOP_STATE_DIR."
        )
