"""Facts about this host that matter for running nodes. Gathered once, judged elsewhere."""

import os
import platform
import shutil
import sys
from pathlib import Path

import msgspec
import psutil

from crashloop.cluster.inotify import Inotify, inotify_of_host
from crashloop.cluster.local.cgroups import CgroupHost, cgroup_host
from crashloop.cluster.local.kernel_modules import Support, file_system
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
        capabilities=_capabilities(),
        missing_tools=tuple(tool for tool in TOOLS if shutil.which(tool) is None),
        can_install=os.geteuid() == 0 and shutil.which("apt-get") is not None,
        cgroups=cgroups,
        controllers=_controllers(cgroups),
        overlay=file_system("overlay"),
        release=platform.release(),
        state_filesystem=filesystem_of(existing, _text(Path("/proc/self/mountinfo"))),
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


def _capabilities() -> int:
    for line in _text(Path("/proc/self/status")).splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return 0


def _controllers(cgroups: CgroupHost) -> frozenset[str]:
    if cgroups.version == 2:
        mounts = cgroups.mounts[:1]
        return frozenset(name for mount in mounts for name in _text(Path(mount, "cgroup.controllers")).split())
    rows = [line.split() for line in _text(Path("/proc/self/mounts")).splitlines()]
    return frozenset(option for row in rows if row[2] == "cgroup" for option in row[3].split(","))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
