"""Starts the load generator: Locust, always as a process of its own, with the kubeconfig of the run. No other module does.

Each process of the load generator runs the plug-in itself, again once its credential has expired. Nothing that is imported
here may be a module that Locust patches later.

Its master may wait for workers from other machines, at an address that is checked before the run.
"""

import os
import random
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

import msgspec

from crashloop.cluster.processes import slowness
from crashloop.errors import UsageError
from crashloop.kube.credential_plugin import read_access
from crashloop.kube.credentials import Access
from crashloop.report.text import counted
from crashloop.resources import HOME
from crashloop.stress.assignment import (
    FOLDER_VARIABLE,
    JOIN_VARIABLE,
    MARKS,
    ORDER_VARIABLE,
    WORKER_VARIABLE,
    WORKERS,
    Joining,
    WorkerLine,
    read_jsonl,
)
from crashloop.waiting import WaitTimeout, wait_until

_CANNOT = "the load generator cannot use it; conformance runs can."


def load_access(kubeconfig: str, context: str | None = None) -> Access:
    """Raises UsageError for a kubeconfig or a plug-in that cannot be used, a proxy, another name, and impersonation."""
    access = read_access(kubeconfig, context)
    for field, value in (("proxy-url", access.proxy), ("tls-server-name", access.server_name)):
        if value:
            raise UsageError(f"kubeconfig {kubeconfig}: its cluster has {field} {value!r}; {_CANNOT}")
    if access.impersonation:
        raise UsageError(f"kubeconfig {kubeconfig}: its user impersonates another (as); {_CANNOT}")
    return access


PORT = 5557
"""Locust's own."""
_ADDRESS = re.compile(r"(\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<host>[^:\[\]\s]+))(:(?P<port>[0-9]{1,5}))?")


class Address(NamedTuple):
    """Of the master."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address_of(text: str, *, option: str) -> Address:
    """HOST[:PORT], an IPv6 address in brackets. Raises UsageError."""
    found = _ADDRESS.fullmatch(text)
    port = int(found["port"] or PORT) if found else 0
    if found is None or not 0 < port < 65536:
        raise UsageError(f"{option} {text!r}: expected HOST or HOST:PORT, such as 192.0.2.7:{PORT}.")
    return Address(found["v6"] or found["host"], port)


def check_free(address: Address, *, option: str) -> None:
    """Raise UsageError for an address that is not of this host, or in use."""
    try:
        family, kind, _, _, where = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(where)
    except OSError as error:
        raise UsageError(
            f"{option} {address}: this host cannot listen there ({error.strerror}).\n"
            "Name an address of this host and a free port."
        ) from error


LOCUSTFILE = HOME / "load" / "locustfile.py"
LOOPBACK = "127.0.0.1"
PORTS = (15_000, 30_000)
WORKERS_WITHIN_S = 60
"""Longest wait for the workers; a master without all of them then ends by itself."""
REMOTE_WITHIN_S = 300
"""The same for workers that people start on other machines."""

_ASKED = (0, -signal.SIGTERM, -signal.SIGINT, 128 + signal.SIGTERM)
"""Exit codes of a generator that was stopped, or is done."""


class Death(NamedTuple):
    """A process of the load generator that ended early."""

    sentence: str
    worker: int | None
    """The number of the worker; None for the master."""


class Generator:
    """One process, or a master and its workers. They end with this process: every one reads a pipe from it."""

    def __init__(
        self,
        order: Path,
        *,
        workers: int,
        web_port: int | None = None,
        listen: Address | None = None,
        workers_within_s: int | None = None,
    ) -> None:
        """`order` is load.json; logs and statistics are written beside it. With `web_port` Locust serves its web UI there.

        With `listen` workers of other machines connect to that address. Otherwise they are started here.
        """
        self._order = order
        self._workers = workers
        self._web_port = web_port
        self._listen = listen
        self._workers_within_s = workers_within_s or (
            round(WORKERS_WITHIN_S * slowness()) if listen is None else REMOTE_WITHIN_S
        )
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._reported: set[str] = set()

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(process.pid for process in self._processes.values())

    def start(self) -> None:
        at = self._listen or Address(LOOPBACK, free_port())
        for number in range(1, 1 if self._listen else self._workers + 1):
            self._start(f"worker {number}", number, *_worker_of(at))
        self._start("generator", 0, *self._what_leads(at))

    def has_begun(self) -> bool:
        """Whether the first stage has begun: before it no object is made."""
        return (self._order.parent / MARKS).exists()

    def has_ended(self) -> bool:
        """Whether the master has ended."""
        return self._processes["generator"].poll() is not None

    def deaths(self) -> Iterator[Death]:
        """Processes and workers of other machines that ended early, each reported once."""
        yield from self._gone()
        for name, process in self._processes.items():
            code = process.poll()
            if code is not None and code not in _ASKED and name not in self._reported:
                self._reported.add(name)
                how = f"signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"exit code {code}"
                number = name.removeprefix("worker ")
                yield Death(
                    f"The {name} of the load ended with {how}; see load/{self._log(name).name}.",
                    int(number) if number.isdecimal() else None,
                )

    def stop(self, *, within_s: float) -> None:
        """Let the load remove its objects and end. Processes that do not end in time are killed."""
        self._signal(signal.SIGTERM)
        with suppress(WaitTimeout):
            wait_until("the load generator to end", self._all_ended, timeout_s=within_s)
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()
        self.let_go()

    def let_go(self) -> None:
        """Close the pipes that keep all processes alive."""
        for process in self._processes.values():
            if process.stdin is not None:
                process.stdin.close()

    def _all_ended(self) -> bool:
        return all(process.poll() is not None for process in self._processes.values())

    def _signal(self, number: signal.Signals) -> None:
        """Only the master, which stops its workers. Without it, or while it still waits for workers, all of them."""
        leader = self._processes.get("generator")
        if leader is not None and leader.poll() is None and self.has_begun():
            leader.send_signal(number)
            return
        for process in self._processes.values():
            with suppress(ProcessLookupError):
                process.send_signal(number)

    def _gone(self) -> Iterator[Death]:
        """Workers of other machines that left, came too late, or never."""
        if self._listen is None:
            return
        lines = list(read_jsonl(self._order.parent / WORKERS, WorkerLine))
        for line in lines:
            sentence = _worker_in_words(line)
            if sentence and sentence not in self._reported:
                self._reported.add(sentence)
                yield Death(sentence, line.worker if line.what == "left" else None)
        if self.has_ended() and not self.has_begun() and "generator" not in self._reported:
            self._reported.add("generator")
            came = sum(line.what == "came" for line in lines)
            yield Death(
                f"{came} of {self._workers} workers connected to {self._listen} within {self._workers_within_s} s; "
                "see load/generator.log.",
                None,
            )

    def _what_leads(self, at: Address) -> tuple[str, ...]:
        folder = self._order.parent
        web = ("--headless", "--only-summary") if self._web_port is None else self._web(self._web_port)
        where = (f"--master-bind-host={at.host}", f"--master-bind-port={at.port}")
        expects = (f"--expect-workers={self._workers}", f"--expect-workers-max-wait={self._workers_within_s}")
        master = ("--master", *where, *expects) if self._workers else ()
        return (*web, *master, f"--html={folder / 'locust.html'}", f"--csv={folder / 'locust'}")

    def _web(self, port: int) -> tuple[str, ...]:
        return ("--autostart", "--autoquit=0", f"--web-host={LOOPBACK}", f"--web-port={port}")

    def _start(self, name: str, number: int, *arguments: str) -> None:
        variables = {ORDER_VARIABLE: str(self._order), WORKER_VARIABLE: str(number)}
        with self._log(name).open("ab") as log:
            self._processes[name] = subprocess.Popen(
                _locust_command(*arguments),
                env=_locust_environment(variables),
                cwd=HOME,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _log(self, name: str) -> Path:
        return self._order.parent / f"{name.replace(' ', '-')}.log"


def become_worker(joining: Joining) -> NoReturn:
    """Go on as a worker of Locust, with a master on another machine."""
    environment = _locust_environment({JOIN_VARIABLE: msgspec.json.encode(joining).decode()})
    os.chdir(HOME)
    os.execve(sys.executable, _locust_command(*_worker_of(Address(joining.host, joining.port))), environment)


def _locust_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", LOCUSTFILE.parent.name, "-f", str(LOCUSTFILE), "--exit-code-on-error=0", *arguments]


def _locust_environment(variables: dict[str, str]) -> dict[str, str]:
    """Locust starts in HOME: elsewhere it reads locust.conf and pyproject.toml of a folder that it knows nothing of."""
    return os.environ | variables | {FOLDER_VARIABLE: str(Path.cwd()), "PYTHONPATH": str(HOME)}


def _worker_of(master: Address) -> tuple[str, ...]:
    return "--worker", f"--master-host={master.host}", f"--master-port={master.port}"


def _worker_in_words(line: WorkerLine) -> str:
    """What a line of workers.jsonl says against the load; nothing of a worker that came in time."""
    worker = f"The worker {line.worker} of the load ({line.host})"
    return {
        "came": "",
        "left": f"{worker} went away before the load was over.",
        "surplus": f"{worker} came when all others were there, and was sent away.",
        "lost": f"{worker} sent {counted(line.count, 'record')} that did not arrive.",
    }[line.what]


def free_port() -> int:
    """An unused port of this host, outside of the ranges from which systems give ports to those who name none."""
    while True:
        port = random.randrange(*PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind((LOOPBACK, port))
            return port
