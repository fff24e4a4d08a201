"""Mounts below a folder that is about to be removed."""

import ctypes
import os
from pathlib import Path

from crashloop.errors import ClusterError

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
