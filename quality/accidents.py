"""Disturbances of a node that the recorder does not know of."""

import asyncio
import os
import signal
import socket
import struct
import subprocess
from pathlib import Path

import msgspec

LOOK_S = 0.05
DOWN_S = 0.5
"""How long a killed runtime stays down: long enough for its event stream to break, short enough for its node to stay Ready."""

_CREDENTIALS = struct.Struct("3i")


class RunningProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A running process, with everything needed to restart it."""

    pid: int
    argv: tuple[bytes, ...]
    environment: dict[bytes, bytes]
    folder: str
    log: str


async def life_begins(pod_logs: Path, number: int) -> None:
    """Return when a container of the node writes the log of its life `number`, counted from 0."""
    while not any(pod_logs.glob(f"*/*/{number}.log")):
        await asyncio.sleep(LOOK_S)


async def kill_runtime(runtime_socket: Path) -> None:
    """Kill the process that serves the socket, and restart it in the same way."""
    runtime = read_process(listener(runtime_socket))
    os.kill(runtime.pid, signal.SIGKILL)
    await asyncio.sleep(DOWN_S)
    with Path(runtime.log).open("ab") as log:
        subprocess.Popen(
            runtime.argv,
            env=runtime.environment,
            cwd=runtime.folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def listener(runtime_socket: Path) -> int:
    """The id of the process that listens on a Unix socket (SO_PEERCRED, unix(7))."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.connect(str(runtime_socket))
        credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid: int = _CREDENTIALS.unpack(credentials)[0]
    return pid


def read_process(pid: int) -> RunningProcess:
    """The start of a process (proc(5)); its log is its standard output."""
    proc = Path(f"/proc/{pid}")
    entries = (each.partition(b"=") for each in (proc / "environ").read_bytes().split(b"\0") if each)
    return RunningProcess(
        pid=pid,
        argv=tuple((proc / "cmdline").read_bytes().split(b"\0")[:-1]),
        environment={name: value for name, _, value in entries},
        folder=str((proc / "cwd").readlink()),
        log=str((proc / "fd" / "1").readlink()),
    )
