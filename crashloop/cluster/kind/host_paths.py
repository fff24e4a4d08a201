"""Paths on this host into a node's file system: if Docker runs here, a node is a process of this host."""

import os
import socket
import sys
from pathlib import Path

from crashloop.cluster.kind.docker import Docker

RUNTIME_SOCKET = "run/containerd/containerd.sock"


def may_reach() -> bool:
    """Whether this process may read others' file systems in /proc (proc(5), /proc/pid/root)."""
    return sys.platform == "linux" and os.geteuid() == 0


def roots(docker: Docker, containers: tuple[str, ...]) -> dict[str, Path]:
    """Path on this host of every container's root folder, if it is in reach.

    A process id from another machine's Docker, or from a virtual machine, is another process here: the host name differs.
    """
    if not may_reach():
        return {}
    found = {name: Path(f"/proc/{pid}/root") for name, pid in docker.process_ids(containers).items() if pid}
    return {name: root for name, root in found.items() if _host_name(root) == name and _has_runtime(root)}


def _host_name(root: Path) -> str:
    try:
        return (root / "etc/hostname").read_text().strip()
    except OSError:
        return ""


def _has_runtime(root: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(str(root / RUNTIME_SOCKET)) == 0
