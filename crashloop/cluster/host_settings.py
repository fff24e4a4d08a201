"""What clusters change on their host: settings and mounts, and how the host gets them back.

Kubelets overwrite some settings, and many nodes need others. Source: setupKernelTunables in
pkg/kubelet/cm/container_manager_linux.go@v1.37.1, which every kubelet with `protectKernelDefaults: false` runs; the values are
those of k8s.io/component-helpers/node/util/sysctl.
"""

import ctypes
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from crashloop.cluster.files import write_file
from crashloop.errors import ClusterError

KUBELET_WRITES = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
"""Path below /proc/sys -> the value that a kubelet sets."""

RAISED = {"fs/inotify/max_user_instances": 1024}
"""Limits that are too low by default for a dozen nodes: a node takes 8 instances (kubelet 6, containerd 2) of 128."""

HOST_FOLDERS = ("/var/lib/kubelet", "/var/lib/cni")
"""Mount points that must exist: a path below each is fixed, so every node mounts its own folder there."""

MADE_BY_DOCKER = ("/lib/modules",)
"""Folders that `kind` mounts into its nodes; Docker creates them where they are missing."""

log = logging.getLogger(__name__)


_HANDED_DOWN = "cgroup.subtree_control"
_DEFAULTS = {
    "cpu.max": "max 100000",
    "cpu.weight": "100",
    "cpuset.cpus": "",
    "io.max": "",
    "io.weight": "default 100",
    "memory.max": "max",
    "pids.max": "max",
}
"""Settings of a cgroup to which its controllers were just handed down (cgroup-v2.rst)."""


class RecordedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """host-settings.json."""

    sysctls: dict[str, str]
    missing_folders: tuple[str, ...]
    """Those of HOST_FOLDERS and MADE_BY_DOCKER that the host did not have."""
    controllers: tuple[str, ...] | None = None
    """What the root of cgroup v2 hands down; a kubelet hands down everything. None on v1."""


def to_restore(recorded: dict[str, str], now: dict[str, str]) -> dict[str, str]:
    """Settings to write: the recorded value where a kubelet or crashloop changed it. Changes by others stay."""
    return {
        name: value
        for name, value in recorded.items()
        if value != now.get(name) and now.get(name) in (KUBELET_WRITES.get(name), str(RAISED.get(name)))
    }


class HostSettings:
    """A file that holds the host's own values from the first cluster's start to the last one's end."""

    def __init__(
        self,
        file: Path,
        *,
        sysctls: Path = Path("/proc/sys"),
        cgroups: Path = Path("/sys/fs/cgroup"),
        folders: tuple[str, ...] = (*HOST_FOLDERS, *MADE_BY_DOCKER),
    ) -> None:
        self._file = file
        self._sysctls = sysctls
        self._handed_down = cgroups / _HANDED_DOWN
        self._folders = folders

    def record(self) -> None:
        """Record the values, unless a cluster that still exists has recorded them."""
        if not self._file.exists():
            missing = tuple(folder for folder in self._folders if not Path(folder).exists())
            recorded = RecordedSettings(sysctls=self._read(), missing_folders=missing, controllers=self._controllers())
            write_file(self._file, msgspec.json.encode(recorded))  # whole or not at all, on a full disk too

    def raise_limits(self) -> None:
        """Raise limits that are too low, where the host allows it."""
        for name, wanted in RAISED.items():
            with suppress(OSError):
                if int((self._sysctls / name).read_text()) < wanted:
                    (self._sysctls / name).write_text(str(wanted))

    def restore(self) -> None:
        """Restore the host's values and forget them; values that this user may not write are logged and stay recorded."""
        if not self._file.exists():
            return
        recorded = msgspec.json.decode(self._file.read_bytes(), type=RecordedSettings)
        for folder in recorded.missing_folders:
            with suppress(OSError):
                Path(folder).rmdir()
        if recorded.controllers is not None:
            for controller in set(self._controllers() or ()) - set(recorded.controllers) - set(self._in_use()):
                # The kernel refuses (EBUSY) where another cgroup hands it down by now.
                with suppress(OSError):
                    self._handed_down.write_text(f"-{controller}")
        stay = []
        for name, value in to_restore(recorded.sysctls, self._read()).items():
            try:
                (self._sysctls / name).write_text(value)
            except OSError:
                stay.append(f"{name.replace('/', '.')}={value}")
        if not stay:
            self._file.unlink()
            return
        log.warning(
            "host settings: kubelets changed some that this user may not write.\nRun as root: sysctl -w %s",
            " ".join(stay),
        )

    def _in_use(self) -> Iterator[str]:
        """Controllers by which a cgroup at the top is limited by now: without them its settings would be lost."""
        for folder in self._handed_down.parent.glob("*/"):
            for name, default in _DEFAULTS.items():
                with suppress(OSError):
                    if (folder / name).read_text().strip() != default:
                        yield name.partition(".")[0]

    def _controllers(self) -> tuple[str, ...] | None:
        return tuple(self._handed_down.read_text().split()) if self._handed_down.exists() else None

    def _read(self) -> dict[str, str]:
        found = {}
        for name in (*KUBELET_WRITES, *RAISED):
            path = self._sysctls / name
            if path.exists():
                found[name] = path.read_text().strip()
        return found


_MNT_DETACH = 2


def unmount_below(folder: Path) -> None:
    """Unmount everything below a folder, deepest first, before the folder is removed.

    Nodes mount in their own namespaces. A mount that is visible here would let the removal reach outside the folder.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    points = mount_points_below(folder, Path("/proc/self/mountinfo").read_text())
    for point in sorted(points, key=len, reverse=True):
        if libc.umount2(os.fsencode(point), _MNT_DETACH):
            raise ClusterError(f"mount {point}: cannot be unmounted ({os.strerror(ctypes.get_errno())}).")


def mount_points_below(folder: Path, mountinfo: str) -> list[str]:
    """Mount points at or below a folder, from the text of /proc/self/mountinfo (proc(5)). Pure."""
    points = (line.split()[4].encode().decode("unicode_escape") for line in mountinfo.splitlines())
    return [point for point in points if Path(point).is_relative_to(folder)]
