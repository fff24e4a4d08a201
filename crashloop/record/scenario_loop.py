"""The loop that takes every scenario of a run from planned to sealed, what it sees of one of any kind, and what ends it early.

Theory of operation. Ten times a second the loop launches what the schedule says and checks every active scenario. Slow
work (calls to the API server or the cluster) goes to a small pool of threads. A scenario has at most one such task in
progress, so its stages are sequential; only this loop advances the schedule.

The recorder lives as long as its parent process holds the other end of its standard input. End of file, SIGTERM and SIGINT
have the same effect: interrupt the recording, tear down, exit. While a provider brings a cluster up or down the main thread
may be deep in a call, so there the interruption is raised. A channel that has crashed loses evidence unseen, so nothing
should go on without it.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from enum import Enum, auto
from types import FrameType
from typing import Protocol, Self

from crashloop.errors import CrashloopError
from crashloop.processors import cpu_times
from crashloop.record.node_keeper import NodeKeeper, Stranded
from crashloop.record.schedule import WINDOW_S, Schedule
from crashloop.spec.scenario import Scenario


class Interrupted(KeyboardInterrupt):
    """The life line has broken. Not an error: providers clean up as on Ctrl-C."""


class Lifeline:
    """Watches standard input and signals; made in the main thread."""

    def __init__(self, stdin: int = 0) -> None:
        self.broken = threading.Event()
        self._stdin = stdin
        self._raising = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._interrupted)
        threading.Thread(target=self._watch, name="lifeline", daemon=True).start()

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Inside, a broken life line raises Interrupted in the main thread, at once or when it breaks."""
        self._raising = True
        try:
            if self.broken.is_set():
                raise Interrupted
            yield
        finally:
            self._raising = False

    def _interrupted(self, _number: int, _frame: FrameType | None) -> None:
        self.broken.set()
        if self._raising:
            self._raising = False
            raise Interrupted

    def _watch(self) -> None:
        while os.read(self._stdin, 4096):
            pass
        # A signal, since it also ends a call in which the main thread waits.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


class ThreadCrashes:
    """Notes the first one from `with` to its end. Faults of the suite still reach the previous excepthook."""

    def __init__(self) -> None:
        self.first: BaseException | None = None
        self._before = threading.excepthook

    def __enter__(self) -> Self:
        self._before, threading.excepthook = threading.excepthook, self._take
        return self

    def __exit__(self, *_: object) -> None:
        threading.excepthook = self._before

    def _take(self, crash: threading.ExceptHookArgs) -> None:
        self.first = self.first or crash.exc_value
        if not isinstance(crash.exc_value, CrashloopError):
            self._before(crash)


class ScenarioStage(Enum):
    """How far a scenario has come. Its own steps move it on."""

    LAUNCHING = auto()
    WATCHED = auto()
    FINISHING = auto()
    SEALED = auto()


class ActiveScenario(Protocol):
    """A scenario from its launch to its sealed history."""

    @property
    def name(self) -> str: ...

    @property
    def node_name(self) -> str | None:
        """The Node object of its node; None: it needs none."""

    @property
    def stage(self) -> ScenarioStage: ...

    def step(self) -> Callable[[], None] | None:
        """What is to be done now, in a thread; None: nothing. Not called again before that has returned."""

    def interrupt(self, detail: str) -> None:
        """Seal what is open, without a call to anybody; called from another thread than its steps."""


LOOK_S = 0.1
TASKS = 12

log = logging.getLogger(__name__)


class ScenarioLoop:
    """Runs once."""

    def __init__(
        self,
        *,
        schedule: Schedule,
        nodes: NodeKeeper,
        active: Callable[[Scenario], ActiveScenario],
        strand: Callable[[Stranded], None],
        lifeline: Lifeline,
        follows_host: bool,
        call_s: Callable[[], float],
    ) -> None:
        """`active` makes a scenario that is launched; `strand` seals those that have no node.

        `follows_host`: the nodes run on this host, so that the budget of starts goes by its cores. `call_s`: what the
        recorder's own calls to the cluster take now.
        """
        self._schedule = schedule
        self._nodes = nodes
        self._make = active
        self._strand = strand
        self._lifeline = lifeline
        self._follows_host = follows_host
        self._call_s = call_s
        self._cpu, self._adapts_s = cpu_times(), time.monotonic() + WINDOW_S
        self._active: dict[str, ActiveScenario] = {}
        self._tasks: dict[str, Future[None]] = {}
        self._pool = ThreadPoolExecutor(TASKS, thread_name_prefix="task")

    def run(self) -> None:
        """Return when all are sealed. A broken life line ends those that are active as interrupted."""
        self._schedule.budget.begin()
        try:
            while not self._schedule.is_done:
                if self._lifeline.broken.wait(LOOK_S):
                    break
                for stranded in self._nodes.tend():
                    self._strand(stranded)
                if time.monotonic() >= self._adapts_s:
                    self._adapt()
                for scenario in self._schedule.to_launch(time.monotonic()):
                    self._active[scenario.name] = self._make(scenario)
                for each in list(self._active.values()):
                    self._look(each)
        finally:
            # Twice: what is open ends at once, and what a task has begun meanwhile ends with that task.
            self._interrupt()
            self._pool.shutdown(cancel_futures=True)
            self._interrupt()

    def _adapt(self) -> None:
        before, self._cpu = self._cpu, cpu_times()
        self._adapts_s = time.monotonic() + WINDOW_S
        budget, call_s, idle_share = self._schedule.budget, self._call_s(), self._cpu.idle_share_since(before)
        pace_per_s = budget.starts_per_s
        budget.adapt(idle_share if self._follows_host else None, call_s)
        if budget.starts_per_s != pace_per_s:
            pace = f"{budget.starts_per_s:.1f} starts per second"
            log.info("cores idle %.0f %%, calls take %.1f s: %s", 100 * idle_share, call_s, pace)

    def _look(self, scenario: ActiveScenario) -> None:
        task = self._tasks.get(scenario.name)
        if task is not None:
            if not task.done():
                return
            del self._tasks[scenario.name]
            task.result()
        if scenario.stage is ScenarioStage.SEALED:
            del self._active[scenario.name]
            self._schedule.ended(scenario.name, time.monotonic())
        elif (step := scenario.step()) is not None:
            self._tasks[scenario.name] = self._pool.submit(step)

    def _interrupt(self) -> None:
        """Seal what is still open, without a call to anybody."""
        stopped = self._lifeline.broken.is_set()
        detail = "the recorder was stopped" if stopped else "the recorder failed while the scenario was recorded"
        for scenario in self._active.values():
            scenario.interrupt(detail)
