"""Stress runs as a user starts them: `crashloop stress` as a process, its run directory, and what it leaves on the host."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from crashloop.cluster.ownership import list_clusters
from crashloop.record.run_cluster import run_name
from crashloop.report.stress.results import StressResults
from crashloop.slo.measurements import SloVerdict
from crashloop.stress.assignment import WORKER_VARIABLE
from crashloop.stress.folder import StressDir, published_stress
from crashloop.stress.generator import LOCUSTFILE
from crashloop.verdict import Outcome
from crashloop.waiting import wait_until

HERE = Path(__file__).parent
CRASHLOOP = Path(sys.executable).with_name("crashloop")
ENDS_WITHIN_S = 200.0


class Running:
    """A stress run that was started."""

    def __init__(self, process: "subprocess.Popen[bytes]", root: Path) -> None:
        self.process = process
        self.run = StressDir(root)

    def wait_for(self, description: str, holds: Callable[[], bool], *, within_s: float = 60.0) -> None:
        """Wait until something holds; a run that has ended before is reported with its output."""

        def probe() -> bool:
            if self.process.poll() is not None:
                pytest.fail(f"the run ended before {description}:\n{self.said}")
            return holds()

        wait_until(description, probe, timeout_s=within_s, last_seen=lambda: self.said)

    def wait_for_restarts(self, pods: int) -> None:
        """Wait until so many pods have histories, and what is measured has begun."""
        self.wait_for(
            f"{pods} pods that crash while it is measured",
            lambda: (
                len(list(self.run.history_dir.glob("crashers-*"))) >= pods
                and any(mark.stage == "storm" and mark.what == "measure" for mark in self.run.marks())
            ),
        )

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def worker(self, number: int) -> psutil.Process:
        """A worker of the load generator."""
        wanted = {WORKER_VARIABLE: str(number)}.items()
        return next(
            each
            for each in psutil.Process(self.process.pid).children(recursive=True)
            if str(LOCUSTFILE) in each.cmdline() and wanted <= each.environ().items()
        )

    def ended(self) -> StressResults:
        """What the run came to, once it has ended."""
        self.process.wait(timeout=ENDS_WITHIN_S)
        assert self.run.slo_json.exists(), self.said
        return published_stress(self.run)

    @property
    def said(self) -> str:
        return (self.run.root.parent / "said.log").read_text(encoding="utf-8")


@contextmanager
def started(profile: str, folder: Path, *more: str) -> Iterator[Running]:
    """A run of a profile of this folder, with more options; whatever becomes of the test, it is over afterwards."""
    root = folder / "run"
    arguments: list[str | Path] = [CRASHLOOP, "stress", str(HERE / f"{profile}.yaml"), "--run-dir", str(root), *more]
    with (folder / "said.log").open("wb") as log:
        process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | {"COLUMNS": "200"}
        )
    running = Running(process, root)
    try:
        yield running
    finally:
        if process.poll() is None:
            running.interrupt()
            process.wait(timeout=ENDS_WITHIN_S)


def verdict(results: StressResults, slo: str) -> SloVerdict:
    return next(each for each in results.verdicts if each.slo == slo)


CHECKS = ("load-as-planned", "evidence-complete", "no-early-restart", "no-lost-restart", "nothing-left")
"""Those that the run makes of itself."""


def require_passed(results: StressResults, *checks: str) -> None:
    for check in checks:
        assert verdict(results, check).outcome is Outcome.PASS, verdict(results, check)


def left_on_host(running: Running) -> list[str]:
    """What the run has left: its cluster, processes of its load generator."""
    clusters = [each.name for each in list_clusters() if each.name == run_name(running.run.root)]
    order = str(running.run.order_json)
    processes = []
    for each in psutil.process_iter():
        try:
            if order in each.environ().values():
                processes.append(f"process {each.pid} {each.name()}")
        except psutil.Error:
            continue
    return [*clusters, *processes]
