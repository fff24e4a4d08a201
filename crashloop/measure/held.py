"""What processes and a cluster hold of resources that can run out: process ids, file descriptors, sockets, inodes.

Source: proc_pid_stat(5), proc_pid_fd(5). A thread has a process id of its own, and so does a process that nobody has reaped.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from crashloop.cluster.provider import ClusterInfo

_PROC = Path("/proc")
_PARENT, _THREADS = 1, 17
"""Fields of /proc/PID/stat after the name."""

Key = TypeVar("Key")


class Held(NamedTuple):
    """Numbers, at one moment."""

    process_ids: int = 0
    open_files: int = 0
    sockets: int = 0
    """Of the open files."""


class _Process(NamedTuple):
    parent: int
    threads: int


def held_by(owners: Mapping[int, Key]) -> dict[Key, Held]:
    """What processes hold, each with all those below it that have no owner of their own. `owners` are by process id."""
    there = dict(_processes())
    found: dict[Key, Held] = {}
    for pid, process in there.items():
        top = pid
        while top not in owners and top in there:
            top = there[top].parent
        if top in owners:
            before, (files, sockets) = found.get(owners[top], Held()), _open_files(pid)
            mine = (process.threads, files, sockets)
            found[owners[top]] = Held(*(have + more for have, more in zip(before, mine, strict=True)))
    return found


def folder_of(info: ClusterInfo) -> Path | None:
    """The folder of this host that has all files of a cluster's nodes; None if they are elsewhere."""
    folder = Path(info.kubeconfig).parent
    logs = [Path(node.pod_logs or "/") for node in info.nodes]
    return folder if logs and all(folder in each.parents for each in logs) else None


def files_below(folder: Path) -> int:
    """Files and folders below a folder: each has an inode."""
    return sum(len(folders) + len(files) for _, folders, files in os.walk(folder))


def _processes() -> Iterator[tuple[int, _Process]]:
    for folder in _PROC.iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            yield int(folder.name), _Process(int(fields[_PARENT]), int(fields[_THREADS]))


def _open_files(pid: int) -> tuple[int, int]:
    """Open files, and how many of them are sockets; none of a process that ended meanwhile."""
    number = sockets = 0
    try:
        for each in os.scandir(_PROC / str(pid) / "fd"):
            number += 1
            sockets += _is_socket(each.path)
    except OSError:
        return 0, 0
    return number, sockets


def _is_socket(path: str) -> bool:
    try:
        return str(Path(path).readlink()).startswith("socket:")
    except OSError:
        return False
