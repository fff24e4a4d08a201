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
from crashloop.cluster.local.cgroups import CgroupHost, cgroup_host
from crashloop.cluster.local.credentials import LONGEST_COMMON_NAME
from crashloop.cluster.local.kernel_modules import Support, file_system
from crashloop.cluster.local.layout import LONGEST_SOCKET_PATH, MOST_NODES, ClusterLayout
from crashloop.cluster.local.node import NODE_USER
from crashloop.cluster.prerequisites import (
    CONTROL_PLANE_INOTIFY,
    MIB,
    NODE_INOTIFY,
    Inotify,
    Problem,
    check_names,
    inotify_of_host,
    inotify_problems,
    memory_problems,
    require_none,
)
from crashloop.cluster.provider import ClusterRequest, Progress
from crashloop.errors import UsageError
from crashloop.processors import available_processors

TOOLS = {
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "mount": "mount",
    "umount": "mount",
    "sleep": "coreutils",
    "sh": "dash",
}
"""Plain tool that nodes need -> its Debian package."""


class HostFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a host; sizes in bytes."""

    system: str
    """sys.platform."""
    root: bool
    capabilities: int
    """Effective capabilities of this process, a bit each (capabilities(7))."""
    missing_tools: tuple[str, ...]
    can_install: bool
    """Whether apt-get can install plain tools."""
    cgroups: CgroupHost
    controllers: frozenset[str]
    overlay: Support
    """Of file systems of that type, in which containers run."""
    release: str
    """Of the kernel."""
    state_filesystem: str
    state_free: int
    memory_available: int
    cores: int
    inotify: Inotify
    kernel_messages: bool
    """Whether /dev/kmsg exists; the kubelet's watcher of out-of-memory kills does not start without it."""


def _is_visible(folder: Path) -> bool:
    """Whether it exists, as far as this user can see."""
    try:
        return folder.exists()
    except PermissionError:
        return False


def host_facts(state_dir: Path) -> HostFacts:
    """Facts about this host. Works on any system and for any user, with fewer facts."""
    linux = sys.platform == "linux"
    cgroups = cgroup_host() if linux else CgroupHost(version=2, mounts=())
    existing = next(folder for folder in (state_dir, *state_dir.parents) if _is_visible(folder))
    return HostFacts(
        system=sys.platform,
        root=os.geteuid() == 0,
        capabilities=_effective_capabilities(),
        missing_tools=tuple(tool for tool in TOOLS if shutil.which(tool) is None),
        can_install=os.geteuid() == 0 and shutil.which("apt-get") is not None,
        cgroups=cgroups,
        controllers=_available_controllers(cgroups),
        overlay=file_system("overlay"),
        release=platform.release(),
        state_filesystem=filesystem_of(existing, _text_or_nothing(Path("/proc/self/mountinfo"))),
        state_free=shutil.disk_usage(existing).free,
        memory_available=psutil.virtual_memory().available,
        cores=available_processors(),
        inotify=inotify_of_host(),
        kernel_messages=Path("/dev/kmsg").exists(),
    )


def filesystem_of(path: Path, mountinfo: str) -> str:
    """Type of the file system that a path lies on, from the text of /proc/self/mountinfo (proc(5)). Pure."""
    best, kind = -1, ""
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        point = before.split()[4].encode().decode("unicode_escape")
        if path.is_relative_to(point) and len(point) >= best:
            best, kind = len(point), after.split()[0]
    return kind


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
NEEDED_CONTROLLERS = ("cpu", "cpuset", "memory", "pids")
_NEEDED_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21, "CAP_SYS_PTRACE": 19, "CAP_MKNOD": 27}
_INSTALL_S = 300.0


def check_host(facts: HostFacts, *, nodes: int) -> None:
    """Raise one PrerequisiteError that lists every problem with its remedy."""
    require_none(
        problems(facts, nodes=nodes),
        failure=f"provider local: this host cannot run {nodes} nodes.",
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
    yield from _file_system_problems(facts)
    yield from _cgroup_problems(facts)
    if not facts.kernel_messages:
        yield Problem(
            "/dev/kmsg", "missing, and no kubelet starts without it: start the container with --device /dev/kmsg."
        )
    yield from _size_problems(facts, nodes)


def _rights_problems(facts: HostFacts) -> Iterator[Problem]:
    if not facts.root:
        yield Problem("rights", "this user is not root: run the same command with sudo.")
        return
    lacking = [name for name, bit in _NEEDED_CAPABILITIES.items() if not facts.capabilities >> bit & 1]
    if lacking:
        yield Problem("rights", f"root lacks {', '.join(lacking)}: start the container with --privileged.")


def _file_system_problems(facts: HostFacts) -> Iterator[Problem]:
    if facts.overlay is Support.FORBIDDEN:
        yield Problem(
            "overlay",
            "a rule of modprobe.d keeps its module from being loaded: remove it, or run `modprobe --ignore-install overlay`.",
        )
    elif facts.overlay is Support.NONE:
        yield Problem(
            "overlay",
            f"the kernel has no overlay file system, and no module of it lies in /lib/modules/{facts.release}: "
            "run `modprobe overlay`, on a container's host if this is one.",
        )
    if facts.state_filesystem == "overlay":
        yield Problem(
            "state folder",
            "lies on an overlay file system, on which containers' overlay file systems cannot be stacked: "
            "set CRASHLOOP_STATE_DIR to a folder on a disk or a volume.",
        )


def _cgroup_problems(facts: HostFacts) -> Iterator[Problem]:
    missing = [name for name in NEEDED_CONTROLLERS if name not in facts.controllers]
    if not facts.cgroups.mounts:
        yield Problem("cgroups", "none are mounted: mount them at /sys/fs/cgroup.")
    elif missing:
        version = facts.cgroups.version
        yield Problem(
            "cgroups", f"v{version} without controller {', '.join(missing)}: enable it on the kernel's command line."
        )


def _size_problems(facts: HostFacts, nodes: int) -> Iterator[Problem]:
    yield from memory_problems(facts.memory_available, nodes=nodes)
    if facts.state_free < FREE_DISK:
        free = facts.state_free // MIB
        yield Problem("disk", f"{free} MiB are free, {FREE_DISK // MIB} MiB are needed: see CRASHLOOP_STATE_DIR.")
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
