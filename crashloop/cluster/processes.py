"""Long-lived processes of a cluster: started so that they outlive this process, found again by an unambiguous mark."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO

import msgspec
import psutil

from crashloop.errors import ClusterError, PrerequisiteError
from crashloop.priority import hand_on
from crashloop.waiting import WaitTimeout, wait_until

STATE_MARK = "CRASHLOOP_STATE"
"""Environment variable of every process of a cluster, inherited by its children: the cluster's state folder."""
NODE_MARK = "CRASHLOOP_NODE"
"""The same for the node that a process belongs to."""

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
"""Variables that would route requests between a cluster's components through the user's proxy."""

_CHILDREN: dict[int, "subprocess.Popen[bytes]"] = {}
"""Children of this process; kept for as long as it lives, since a kept cluster's daemons outlive their cluster object."""


class Daemon(msgspec.Struct, frozen=True, kw_only=True):
    """A process. Its start time distinguishes it from a later process with the same id."""

    pid: int
    started: float


class Starter:
    """Starts the processes of one cluster."""

    def __init__(self, state: Path) -> None:
        self._state = state

    def start(self, argv: Sequence[str], *, node: str, log: Path, search_path: Sequence[str] = ()) -> Daemon:
        """Start a process in a session of its own; its output is appended to `log`."""
        with log.open("ab") as output:
            return _daemon(self._spawn(argv, node, search_path, stdout=output, stderr=output))

    def start_holder(self, argv: Sequence[str], *, node: str, log: Path) -> Daemon:
        """Start a process that prints `ready`, and wait for that line. Raises ClusterError with any other output."""
        with log.open("ab") as errors:
            child = self._spawn(argv, node, (), stdout=subprocess.PIPE, stderr=errors)
        assert child.stdout is not None
        with child.stdout as answer:
            if answer.readline().strip() != b"ready":
                raise ClusterError(
                    f"namespaces of {node}: `{argv[0]}` could not make them.\n{log.read_text(errors='replace').strip()}\n"
                    "Run as root; in a container, start it with --privileged."
                )
        return _daemon(child)

    def _spawn(
        self,
        argv: Sequence[str],
        node: str,
        search_path: Sequence[str],
        *,
        stdout: "int | IO[bytes]",
        stderr: "int | IO[bytes]",
    ) -> "subprocess.Popen[bytes]":
        environment = {name: value for name, value in os.environ.items() if name.lower() not in _PROXIES}
        environment |= {STATE_MARK: str(self._state), NODE_MARK: node}
        environment["PATH"] = os.pathsep.join([*search_path, environment.get("PATH", os.defpath)])
        try:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                cwd=self._state,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise PrerequisiteError(f"{argv[0]}: cannot be started ({error.strerror}).") from error
        hand_on(child.pid)
        _CHILDREN[child.pid] = child
        return child


def _daemon(child: "subprocess.Popen[bytes]") -> Daemon:
    try:
        return Daemon(pid=child.pid, started=psutil.Process(child.pid).create_time())
    except psutil.NoSuchProcess:
        return Daemon(pid=child.pid, started=0.0)


def exit_code(daemon: Daemon) -> int | None:
    """Exit code of a process (negative: the signal); None if it runs or is not a child of this process."""
    child = _CHILDREN.get(daemon.pid)
    return None if child is None else child.poll()


def is_alive(daemon: Daemon) -> bool:
    """Whether the process runs. A child has ended only when its exit code is known, since its threads end one by one."""
    try:
        process = psutil.Process(daemon.pid)
        if process.create_time() != daemon.started:
            return False
        child = _CHILDREN.get(daemon.pid)
        if child is not None and child.returncode is None:
            return child.poll() is None
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def signal_daemon(daemon: Daemon, number: signal.Signals) -> None:
    """Send a signal to the process, not to a later one with its id."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(daemon.pid)
        if process.create_time() == daemon.started:
            process.send_signal(number)


def wait_gone(daemon: Daemon, *, describe: str, timeout_s: float) -> None:
    """Wait until the process has ended. Raises WaitTimeout."""
    wait_until(f"{describe} to end", lambda: not is_alive(daemon), timeout_s=timeout_s, every_s=0.02)


def marked_processes(state: Path, node: str | None = None) -> set[int]:
    """Ids of all processes that carry the mark of a cluster or of one of its nodes, without this process."""
    wanted = {f"{STATE_MARK}={state}".encode()} | ({f"{NODE_MARK}={node}".encode()} if node else set())
    found = set()
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            if pid != os.getpid() and wanted <= set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")):
                found.add(pid)
    return found


def kill_until_gone(find: Callable[[], set[int]], *, describe: str, timeout_s: float = 30.0) -> None:
    """SIGKILL the processes that `find` returns until it returns none. Raises ClusterError that lists the survivors."""
    left: set[int] = set()

    def killed() -> bool:
        left.clear()
        left.update(find())
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    try:
        wait_until(describe, killed, timeout_s=timeout_s, every_s=0.02)
    except WaitTimeout as error:
        names = "; ".join(_commands(left))
        raise ClusterError(f"{describe}: still there after SIGKILL and {timeout_s:g} s: {names}.") from error


def _commands(pids: Iterable[int]) -> Iterable[str]:
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            yield f"{pid} {psutil.Process(pid).name()}"
