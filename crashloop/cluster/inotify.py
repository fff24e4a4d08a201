"""Inotify instances, of which Linux allows a user few by default: the nodes of every provider here share root's."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil

from crashloop.cluster.host_settings import RAISED
from crashloop.cluster.prerequisites import Problem

CONTROL_PLANE = 4
NODE = 8
"""Measured: kubelet 6, containerd 2."""
SYSTEMD = 5
"""Measured, beside them: systemd 4, a follower of the journal 1."""
_LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")


class Inotify(msgspec.Struct, frozen=True, kw_only=True):
    """Inotify instances of root on this host."""

    allowed: int
    """0 if it is not known."""
    used: int
    """As far as this user can see."""
    can_be_raised: bool
    """Whether this process may raise the limit."""

    @property
    def possible(self) -> int:
        """The limit while clusters are up."""
        return max(self.allowed, max(RAISED.values()) if self.can_be_raised else 0)


def inotify_of_host() -> Inotify:
    """The instances of this host; none on a system without inotify."""
    return Inotify(
        allowed=int(_LIMIT.read_text()) if _LIMIT.exists() else 0,
        used=_used() if _LIMIT.exists() else 0,
        can_be_raised=os.geteuid() == 0 and os.access(_LIMIT, os.W_OK),
    )


def inotify_problems(host: Inotify, *, needed: int) -> Iterator[Problem]:
    """A problem if so many further instances are known to be more than are possible. Pure."""
    if host.allowed and host.possible < host.used + needed:
        yield Problem(
            "inotify",
            f"{host.possible} instances are allowed, {host.used + needed} are needed: "
            "`sysctl fs.inotify.max_user_instances=1024`.",
        )


def _used() -> int:
    count = 0
    for process in psutil.process_iter(["uids"]):
        uids = process.info["uids"]
        if uids is None or uids.real != 0:
            continue
        try:
            links = [str(entry.readlink()) for entry in Path(f"/proc/{process.pid}/fd").iterdir()]
        except OSError:
            continue
        count += sum(link == "anon_inode:inotify" for link in links)
    return count
