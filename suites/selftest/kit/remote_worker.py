"""A worker of a load as on another machine: the command, with credentials of its own and nothing of the run's folder."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crashloop.stress.generator import Address

MAIN = "from crashloop.cli import main; main()"
IN_LOCUST = """\
import os
become = os.execve
os.execve = lambda python, command, variables: become(python, [python, "-c", {code!r}, *command[3:]], variables)
"""
"""Locust's process with `code` in place of `python -m locust`."""
ENDS_WITHIN_S = 120.0


class RemoteWorker:
    """A process of `crashloop load-worker`, in the folder of its kubeconfig; `twist` is code that changes Locust."""

    def __init__(self, master: Address, kubeconfig: Path, *options: str, twist: str = "") -> None:
        named = ("--master", str(master), "--kubeconfig", kubeconfig.name, *options)
        code = f"import locust.main\n{twist}\nlocust.main.main()"
        main = f"{IN_LOCUST.format(code=code)}{MAIN}" if twist else MAIN
        self._process = subprocess.Popen(
            [sys.executable, "-c", main, "load-worker", *named],
            cwd=kubeconfig.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def kill(self) -> None:
        self._process.kill()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let it fall silent, as on a machine that sleeps; its connection stays."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def ended(self) -> tuple[int, str]:
        """Exit code and standard error, once it has ended by itself."""
        _, said = self._process.communicate(timeout=ENDS_WITHIN_S)
        return self._process.returncode, said


@contextmanager
def remote_workers(
    master: Address, kubeconfig: Path, *, count: int = 1, twist: str = ""
) -> Iterator[list[RemoteWorker]]:
    """So many workers, which are gone in the end."""
    workers = [RemoteWorker(master, kubeconfig, twist=twist) for _ in range(count)]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.kill()
            worker.ended()
