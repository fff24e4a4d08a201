"""The loop that takes every scenario of a run from planned to sealed, and what it sees of a scenario of any kind.

Theory of operation. Ten times a second the loop launches what the schedule says and checks every active scenario. Slow
work (calls to the API server or the cluster) goes to a small pool of threads. A scenario has at most one such task in
progress, so its stages are sequential; only this loop advances the schedule.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from enum import Enum, auto
from typing import Protocol

from crashloop.processors import cpu_times
from crashloop.record.lifeline import Lifeline
from crashloop.record.node_keeper import NodeKeeper, Stranded
from crashloop.record.schedule import WINDOW_S, Schedule
from crashloop.spec.scenario import Scenario


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
    ) -> None:
        """`active` makes a scenario that is launched; `strand` seals those that have no node.

        `follows_host`: the nodes run on this host, so that the budget of starts goes by its cores.
        """
        self._schedule = schedule
        self._nodes = nodes
        self._make = active
        self._strand = strand
        self._lifeline = lifeline
        self._follows_host = follows_host
        self._cpu, self._adapts_s = cpu_times(), time.monotonic() + WINDOW_S
        self._active: dict[str, ActiveScenario] = {}
        self._tasks: dict[str, Future[None]] = {}
        self._pool = ThreadPoolExecutor(TASKS, thread_name_prefix="task")

    def run(self) -> None:
        """Return when all are sealed. A broken life line ends those that are active as interrupted."""
        try:
            while not self._schedule.is_done:
                if self._lifeline.broken.wait(LOOK_S):
                    break
                for stranded in self._nodes.tend():
                    self._strand(stranded)
                if self._follows_host and time.monotonic() >= self._adapts_s:
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
        idle_share, pace_per_s = self._cpu.idle_share_since(before), self._schedule.budget.starts_per_s
        self._schedule.budget.adapt(idle_share)
        if self._schedule.budget.starts_per_s != pace_per_s:
            log.info("cores idle %.0f %%: %.1f starts per second", 100 * idle_share, self._schedule.budget.starts_per_s)

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
