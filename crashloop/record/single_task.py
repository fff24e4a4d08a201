"""A scenario whose evidence is one piece of work, done in one thread."""

import logging
from collections.abc import Callable

from crashloop.cluster.provider import Node
from crashloop.history.event import Event
from crashloop.record.active_scenario import ScenarioStage
from crashloop.record.history_ends import end_events
from crashloop.record.history_file import HistoryFile
from crashloop.record.site import RecordingSite
from crashloop.spec.scenario import Scenario

log = logging.getLogger(__name__)


class SingleTask:
    """Implements `crashloop.record.active_scenario.ActiveScenario`; a subclass says what the work is."""

    def __init__(self, scenario: Scenario, node: Node | None, site: RecordingSite) -> None:
        self.stage = ScenarioStage.LAUNCHING
        self._planned = scenario
        self._node = node
        self._site = site
        self._file: HistoryFile | None = None

    @property
    def name(self) -> str:
        return self._planned.name

    @property
    def node_name(self) -> str | None:
        return None if self._node is None else self._node.name

    def step(self) -> Callable[[], None] | None:
        self.stage = ScenarioStage.WATCHED
        return self._carry_out

    def take(self, event: Event) -> None:
        """Write an event into the history."""
        if self._file is not None:
            self._file.append(event)

    def interrupt(self, detail: str) -> None:
        if self._file is not None:
            self._file.seal(end_events("interrupted", detail))
        self.stage = ScenarioStage.SEALED

    def record(self) -> tuple[str, str]:
        """Do the work, and `take` what comes of it; reason and detail of the history's end."""
        raise NotImplementedError

    def _carry_out(self) -> None:
        about = () if self._node is None else self._site.about(self._node)
        self._file = self._site.begin(self._planned, self._node, *about)
        self._site.router.listen(self)
        try:
            reason, detail = self.record()
        finally:
            self._site.router.unlisten(self.name)
        self._file.seal(end_events(reason, detail))
        self.stage = ScenarioStage.SEALED
        log.info("scenario %s: %s: %s", self.name, reason, detail)
