"""One container of a rehearsed pod: its state and its exits."""

from enum import Enum, auto

from crashloop.model.counter import Branch, Counter
from crashloop.model.phase import KnownState, StateKind
from crashloop.model.planned_exit import PlannedEnd, PlannedEnds, PlannedExit
from crashloop.model.restart import Decided
from crashloop.spec.pod import Container


class Standing(Enum):
    """Where a container stands."""

    OUTSIDE = auto()
    """Not started, or reset; waits for its turn in the pod's order of start."""
    WAITING = auto()
    RUNNING = auto()
    DONE = auto()


_STATE_KINDS = {
    Standing.OUTSIDE: StateKind.WAITING,
    Standing.WAITING: StateKind.WAITING,
    Standing.RUNNING: StateKind.RUNNING,
    Standing.DONE: StateKind.TERMINATED,
}


class Actor:
    """A container in a rehearsal."""

    def __init__(self, container: Container) -> None:
        self.container = container
        self.stage = Standing.OUTSIDE
        self._ends = PlannedEnds(container)
        self.instance = -1
        """Ordinal of the latest instance; -1 before the first start."""
        self.epoch = 0
        """Rises when whatever was scheduled for it no longer holds."""
        self.entry: Counter | None = None
        self.following: Branch | None = None
        """What the counter allowed at the latest exit, until the restart."""
        self.previous_finished_s: float | None = None
        self.exits: list[PlannedExit] = []
        self.exits_s: list[float] = []
        self.starts_s: list[float] = []
        self._being_reset = False
        self._first_s = 0.0
        self._holds = False

    @property
    def end(self) -> PlannedEnd:
        """How its present life ends."""
        return self._ends.of_holding if self._holds else self._ends.of(self.instance)

    @property
    def succeeded(self) -> bool:
        return self.stage is Standing.DONE and self.exits[-1].exit_code == 0

    @property
    def state(self) -> KnownState:
        last = self.exits[-1] if self.exits else None
        return KnownState(
            kind=_STATE_KINDS[self.stage],
            last_exit_code=None if last is None else last.exit_code,
            killed=last is not None and last.killed,
            being_reset=self._being_reset,
        )

    def start(self, now_s: float) -> None:
        self.instance += 1
        self._first_s = now_s if self.instance == 0 else self._first_s
        recovers_s = self.container.program.fails_until_s
        self._holds = recovers_s is not None and now_s - self._first_s >= recovers_s
        self.starts_s.append(now_s)
        if self.following is not None:
            self.entry = self.following.entry_after(now_s)
            self.following = None
        self._being_reset = False
        self.stage = Standing.RUNNING

    def exit(self, now_s: float, exit_code: int, decided: Decided, *, killed: bool) -> None:
        self.exits.append(
            PlannedExit(
                instance=self.instance,
                exit_code=exit_code,
                decision=decided.decision,
                step=decided.step,
                killed=killed,
            )
        )
        self.exits_s.append(now_s)
        self.previous_finished_s = now_s

    def reset(self) -> None:
        """RestartAllContainers removes whatever there is of it, so that no exit is known any more."""
        self.epoch += 1
        self._being_reset = self.instance >= 0
        self.previous_finished_s = None
        self.stage = Standing.OUTSIDE

    def end_with_pod(self) -> None:
        """The pod has ended; what still runs or waits goes with it."""
        self.epoch += 1
        if self.stage is Standing.RUNNING or (self.stage is Standing.WAITING and self.exits):
            self.stage = Standing.DONE
