"""What every provider on this host needs: memory, limits, inotify instances, valid names; and how it reports what is missing.

Linux allows a user few inotify instances by default, and the nodes of every provider here share root's.
"""

import os
import resource
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
import psutil

from crashloop.cluster.host_settings import RAISED
from crashloop.cluster.provider import ClusterRequest
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.spec.pod import LABEL

MIB = 1 << 20
CONTROL_PLANE_MEMORY = 600 * MIB
NODE_MEMORY = 190 * MIB
"""Measured: kubelet 130 MB, containerd 56 MB; etcd, API server, controller manager and scheduler 570 MB."""
SYSTEMD_MEMORY = 30 * MIB
"""Measured: systemd, journald and a follower of the journal, in a node that has them."""

OPEN_FILES = 256
"""A process of a run: tests while they are collected, etcd, the API server, a recorder beside its histories."""


class Problem(NamedTuple):
    """A missing prerequisite and its remedy."""

    subject: str
    text: str


def memory_problems(available: int, *, nodes: int, of_each: int = NODE_MEMORY) -> Iterator[Problem]:
    """A problem if a control plane and so many nodes need more than the `available` bytes. Pure."""
    needed = CONTROL_PLANE_MEMORY + nodes * of_each
    if available < needed:
        text = f"{available // MIB} MiB are available, {needed // MIB} MiB are needed: end other programs."
        yield Problem("memory", text)


def require_none(problems: Iterable[Problem], *, failure: str, alternative: str) -> None:
    """Raise one PrerequisiteError that lists every problem, between the failure and what else could be used."""
    rows = "\n".join(f"- {problem.subject}: {problem.text}" for problem in problems)
    if rows:
        raise PrerequisiteError(f"{failure}\n{rows}\n{alternative}")


_LEAST = {
    "RLIMIT_AS": ("ulimit -v unlimited", 12 << 30),
    "RLIMIT_CPU": ("ulimit -t unlimited", 3600),
    "RLIMIT_FSIZE": ("ulimit -f unlimited", 64 * MIB),
    "RLIMIT_NOFILE": ("ulimit -n 1024", OPEN_FILES),
    "RLIMIT_NPROC": ("ulimit -u unlimited", 512),
}
"""Limit of a process (setrlimit(2)) -> its remedy, and what etcd, the API server, the collection of tests or the
containers of a node, which have one user, need in any case."""
_MANY = 1 << 16


def limits_too_low(*names: str) -> dict[str, int]:
    """Limits of this process (these, or all) below what is needed, by their names; those that it may raise it raises."""
    found = {}
    for name in names or _LEAST:
        limit, (_, least) = getattr(resource, name), _LEAST[name]
        _, hard = resource.getrlimit(limit)
        for higher in (resource.RLIM_INFINITY, hard, max(_MANY, least)):
            if 0 <= resource.getrlimit(limit)[0] < least:
                with suppress(ValueError, OSError):  # beyond the hard limit, or beyond what the kernel has at all
                    resource.setrlimit(limit, (higher, higher))
        if 0 <= (most := resource.getrlimit(limit)[0]) < least:
            found[name] = most
    return found


def limit_problems(low: dict[str, int]) -> Iterator[Problem]:
    """A problem for each limit that stays too low. Pure."""
    for name, most in low.items():
        remedy, least = _LEAST[name]
        yield Problem("limits", f"{name} is {most}, at least {least} is needed: `{remedy}`.")


def room_problem(state: Path, *, least: int = MIB) -> str | None:
    """What to say if less than so many bytes, or not one file, fit into a state folder that is in use."""
    try:
        room = os.statvfs(state)
    except OSError:  # removed with its cluster
        return None
    if room.f_bavail * room.f_frsize >= least and (room.f_favail or not room.f_files):
        return None
    return (
        f"state folder {state}: no space left on device while a cluster was up, or came up.\n"
        "Make room there, or set CRASHLOOP_STATE_DIR to a folder on another disk."
    )


CONTROL_PLANE_INOTIFY = 4
NODE_INOTIFY = 8
"""Measured: kubelet 6, containerd 2."""
SYSTEMD_INOTIFY = 5
"""Measured, beside them: systemd 4, a follower of the journal 1."""
_INOTIFY_LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")


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
        allowed=int(_INOTIFY_LIMIT.read_text()) if _INOTIFY_LIMIT.exists() else 0,
        used=_inotify_in_use() if _INOTIFY_LIMIT.exists() else 0,
        can_be_raised=os.geteuid() == 0 and os.access(_INOTIFY_LIMIT, os.W_OK),
    )


def inotify_problems(host: Inotify, *, needed: int) -> Iterator[Problem]:
    """A problem if so many further instances are known to be more than are possible. Pure."""
    if host.allowed and host.possible < host.used + needed:
        yield Problem(
            "inotify",
            f"{host.possible} instances are allowed, {host.used + needed} are needed: "
            "`sysctl fs.inotify.max_user_instances=1024`.",
        )


def _inotify_in_use() -> int:
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


def check_names(request: ClusterRequest, *, most_nodes: int) -> None:
    """Raise UsageError for invalid names or too many nodes."""
    subject = f"cluster {request.name!r}"
    if not LABEL.fullmatch(request.name):
        raise UsageError(f"{subject}: a name has lower-case letters, digits and dashes, at most 63.")
    names = [node.name for node in request.nodes]
    for name in names:
        if not LABEL.fullmatch(name):
            raise UsageError(f"{subject}: node {name!r}: a name has lower-case letters, digits and dashes, at most 63.")
        if names.count(name) > 1:
            raise UsageError(f"{subject}: node {name!r} is requested twice.")
    if len(names) > most_nodes:
        raise UsageError(f"{subject}: {len(names)} nodes are requested, at most {most_nodes} fit.")
