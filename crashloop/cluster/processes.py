"""Processes of a cluster: short ones that are waited for, and long-lived ones, which outlive this process.

A command has no shell, always a time limit, and a message with a remedy if it fails; this is the one place that starts any.
A long-lived process is found again by an unambiguous mark in its environment.
"""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from types import FrameType
from typing import IO, NamedTuple

import msgspec
import psutil

from crashloop.errors import ClusterError, PrerequisiteError
from crashloop.processors import hand_on
from crashloop.waiting import WaitTimeout, wait_until

LAST_LINES = 20
"""How much of a failed command's output goes into the message."""


class CommandFailed(ClusterError):
    """A command ended with something other than exit code 0, or not in time."""

    def __init__(self, message: str, *, exit_code: int | None, output: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        """None: it was stopped because it took too long. Negative: the signal that ended it."""
        self.output = output
        """Standard output and error, whole."""


def run(
    argv: Sequence[str | Path],
    *,
    describe: str,
    timeout_s: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    input: str | None = None,
) -> str:
    """Run a command to its end and return its standard output.

    `describe` says what it is for ("kubelet --version"); `env` is added to this process's environment.
    Raises PrerequisiteError if the program is missing or cannot be started, CommandFailed if it fails or takes longer
    than `timeout_s`. The end of the wait (a time limit, Ctrl-C, SIGTERM) also ends the command and its children.
    """
    words = [os.fspath(word) for word in argv]
    with signals_as_exit():
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env={**os.environ, **(env or {})},
                start_new_session=True,
                text=True,
                errors="replace",
            )
        except OSError as error:
            missing = "" if error.filename in (None, words[0]) else f": {error.filename}"  # as /dev/null
            raise PrerequisiteError(f"{describe}: {words[0]} cannot be started ({error.strerror}{missing}).") from error
        with process:
            try:
                output, errors = process.communicate(input, timeout=timeout_s)
            except BaseException as error:
                _kill_process_group(process)
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                output, errors = _printed_so_far(process)
                what = f"{describe}: `{shlex.join(words)}` did not end within {timeout_s:g} s."
                raise _command_failed(what, output + errors, exit_code=None) from None
    if process.returncode:
        what = f"{describe}: `{shlex.join(words)}` {_ending_in_words(process.returncode)}, expected exit code 0."
        raise _command_failed(what, output + errors, exit_code=process.returncode)
    return output


def _kill_process_group(process: "subprocess.Popen[str]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _printed_so_far(process: "subprocess.Popen[str]") -> tuple[str, str]:
    try:
        return process.communicate(timeout=1)
    except subprocess.TimeoutExpired:  # something that left the process group still holds the pipes
        return "", ""


def _ending_in_words(code: int) -> str:
    return f"was ended by signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"ended with exit code {code}"


def _command_failed(what: str, output: str, *, exit_code: int | None) -> CommandFailed:
    lines = [f"  {line}" for line in output.strip().splitlines()[-LAST_LINES:]]
    shown = ["Its last lines:", *lines] if lines else ["It printed nothing."]
    return CommandFailed("\n".join([what, *shown]), exit_code=exit_code, output=output)


_STARTS = 40
USUAL_START_S = 0.002
"""Three times what the machine of docs/numbers.md needs to start and end a process."""
MOST_SLOWNESS = 20.0


class ProcessStart(NamedTuple):
    """What starting and ending a process takes here: each the least of many, which other programs lengthen least."""

    wall_s: float
    cpu_s: float


@cache
def boot_id() -> str | None:
    """The boot that this host's boot time counts from; None if the kernel does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() or None
    except OSError:
        return None


@cache
def process_start() -> ProcessStart:
    """Measure it, in less than a tenth of a second on a usual host."""
    found = []
    program = shutil.which("true") or "/bin/true"
    for _ in range(_STARTS):
        began_s, spent_s = time.perf_counter(), _cpu_s()
        run([program], describe="starting a process", timeout_s=10)
        found.append((time.perf_counter() - began_s, _cpu_s() - spent_s))
    wall_s, cpu_s = (tuple(each) for each in zip(*found, strict=True))
    # A kernel that counts by ticks of its clock says 0 of most and a whole tick of some, which a busy host makes too many.
    by_ticks = sum(cpu_s) / len(found) or min(wall_s)
    return ProcessStart(min(wall_s), min(cpu_s) or min(by_ticks, *wall_s))


def _cpu_s() -> float:
    """CPU time of this process and of the children that have ended."""
    used = (getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def slowness() -> float:
    """What waits for processes are multiplied by on this host: 1 at a usual speed, up to MOST_SLOWNESS."""
    return min(max(process_start().wall_s / USUAL_START_S, 1.0), MOST_SLOWNESS)


STATE_MARK = "CRASHLOOP_STATE"
"""Environment variable of every process of a cluster, inherited by its children: the cluster's state folder."""
NODE_MARK = "CRASHLOOP_NODE"
"""The same for the node that a process belongs to."""

ROLE_MARK = "CRASHLOOP_ROLE"
"""The same for what a process was started as: a kubelet under test may have any name."""

_HANDED_ON = (
    *("HOME", "PATH", "TZ", "LANG", "LC_", "LD_"),
    *("GOCOVERDIR", "GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK"),
)
"""How names of variables begin that a cluster's processes get. Others would be theirs by accident: a proxy, settings of the
user's own etcd or containerd (ETCD_NAME, CONTAINERD_NAMESPACE), the socket of the service that crashloop runs in."""

_UMASK = 0o022
"""As systemd gives it to services. containerd makes an image's root folder by it, and a container's user has to enter that."""

_CHILDREN: dict[int, "subprocess.Popen[bytes]"] = {}
"""Children of this process; kept for as long as it lives, since a kept cluster's daemons outlive their cluster object."""


class Daemon(msgspec.Struct, frozen=True, kw_only=True):
    """A process. Its start distinguishes it from a later process with the same id."""

    pid: int
    started: float
    """In clock ticks after the boot, by which no step of the wall clock changes it."""
    boot: str = ""


class Starter:
    """Starts the processes of one cluster."""

    def __init__(self, state: Path) -> None:
        self._state = state

    def start(
        self, argv: Sequence[str], *, node: str, log: Path, search_path: Sequence[str] = (), role: str = ""
    ) -> Daemon:
        """Start a process in a session of its own; its output is appended to `log`."""
        with log.open("ab") as output:
            return _daemon(self._spawn(argv, node, search_path, role=role, stdout=output, stderr=output))

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
        role: str = "",
        stdout: "int | IO[bytes]",
        stderr: "int | IO[bytes]",
    ) -> "subprocess.Popen[bytes]":
        environment = {name: value for name, value in os.environ.items() if name.startswith(_HANDED_ON)}
        # Their temporary files are removed with the cluster, and need nothing of a /tmp that is full or read-only.
        environment |= {STATE_MARK: str(self._state), NODE_MARK: node, ROLE_MARK: role, "TMPDIR": str(self._state)}
        environment["PATH"] = os.pathsep.join([*search_path, environment.get("PATH", os.defpath)])
        try:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                cwd=self._state,
                env=environment,
                umask=_UMASK,
                start_new_session=True,
            )
        except OSError as error:
            raise PrerequisiteError(f"{argv[0]}: cannot be started ({error.strerror}).") from error
        hand_on(child.pid)
        _CHILDREN[child.pid] = child
        return child


def _daemon(child: "subprocess.Popen[bytes]") -> Daemon:
    return _running(child.pid) or Daemon(pid=child.pid, started=0.0)


def _running(pid: int) -> Daemon | None:
    """The process that has the id now: field 22 of /proc/PID/stat (proc(5)), after the name, which may have blanks."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return Daemon(pid=pid, started=float(fields[19]), boot=boot_id() or "")


def exit_code(daemon: Daemon) -> int | None:
    """Exit code of a process (negative: the signal); None if it runs or is not a child of this process."""
    child = _CHILDREN.get(daemon.pid)
    return None if child is None else child.poll()


def is_alive(daemon: Daemon) -> bool:
    """Whether the process runs. A child has ended only when its exit code is known, since its threads end one by one."""
    if _running(daemon.pid) != daemon:
        return False
    child = _CHILDREN.get(daemon.pid)
    if child is not None and child.returncode is None:
        return child.poll() is None
    try:
        return psutil.Process(daemon.pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def signal_daemon(daemon: Daemon, number: signal.Signals) -> None:
    """Send a signal to the process, not to a later one with its id."""
    with contextlib.suppress(ProcessLookupError):
        if _running(daemon.pid) == daemon:
            os.kill(daemon.pid, number)


ENDS_WITHIN_S = 30.0
"""After a signal, on a host of usual speed."""


def wait_gone(daemon: Daemon, *, describe: str) -> None:
    """Wait until the process has ended. Raises WaitTimeout."""
    wait_until(f"{describe} to end", lambda: not is_alive(daemon), timeout_s=ENDS_WITHIN_S * slowness(), every_s=0.02)


def marked_processes(state: Path, node: str | None = None) -> set[int]:
    """Ids of all processes that carry the mark of a cluster or of one of its nodes, without this process."""
    wanted = {f"{STATE_MARK}={state}".encode()} | ({f"{NODE_MARK}={node}".encode()} if node else set())
    found = set()
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            if pid != os.getpid() and wanted <= set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")):
                found.add(pid)
    return found


def kill_until_gone(find: Callable[[], set[int]], *, describe: str, timeout_s: float | None = None) -> None:
    """SIGKILL the processes that `find` returns until it returns none. Raises ClusterError that lists the survivors."""
    left: set[int] = set()
    timeout_s = timeout_s or ENDS_WITHIN_S * slowness()

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
        names = "; ".join(_commands_of(left))
        raise ClusterError(f"{describe}: still there after SIGKILL and {timeout_s:g} s: {names}.") from error


def _commands_of(pids: Iterable[int]) -> Iterable[str]:
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            yield f"{pid} {psutil.Process(pid).name()}"


_ENDINGS = (signal.SIGTERM, signal.SIGHUP)
"""What ends a command from outside; the second when its terminal goes away, as at the end of a connection."""


@contextmanager
def signals_as_exit() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack as Ctrl-C does, so that what was begun is cleaned up.

    In the main thread only, as signals are handled there; and not one that the caller handles or ignores, as nohup(1) does.
    """
    in_main = threading.current_thread() is threading.main_thread()
    ours = [number for number in _ENDINGS if in_main and signal.getsignal(number) is signal.SIG_DFL]

    def leave(number: int, _frame: FrameType | None) -> None:
        for each in ours:  # a shell sends a second SIGHUP, which would break off the cleaning
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for number in ours:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
