"""A scenario under recording of any kind, as the scenario loop sees it."""

from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol


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
