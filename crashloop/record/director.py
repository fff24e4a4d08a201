"""Runs one wave: launches its pods, annotates and intervenes when due, ends a scenario when its evidence is complete.

Theory of operation. One loop checks every scenario ten times a second and passes slow work (calls to the API server or the
cluster) to a small pool of threads. A scenario has at most one such task in progress, so its stages are sequential; only
this loop advances a scenario.
"""

import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from crashloop.errors import CrashloopError
from crashloop.history.event import Event
from crashloop.kube.client import KubeApi
from crashloop.kube.errors import ApiRefusal, CredentialsRefused
from crashloop.record.annotations import Annotations
from crashloop.record.interventions import Interventions
from crashloop.record.lifeline import Lifeline
from crashloop.record.pods import Pods
from crashloop.record.scenario_recording import ScenarioRecording, ScenarioStage, end_events
from crashloop.spec.scenario import Mode

LOOK_S = 0.1
TASKS = 8

log = logging.getLogger(__name__)


class Director:
    """Takes the scenarios of a wave from planned to sealed."""

    def __init__(
        self,
        *,
        api: KubeApi,
        namespace: str,
        pods: Pods,
        hands: Interventions,
        begin: Callable[[ScenarioRecording], None],
        last_words: Callable[[ScenarioRecording], list[Event]],
        lifeline: Lifeline,
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._pods = pods
        self._hands = hands
        self._begin = begin
        self._last_words = last_words
        self._lifeline = lifeline
        self._tasks: dict[str, Future[None]] = {}
        self._pokes: dict[str, Annotations] = {}
        self._pool = ThreadPoolExecutor(TASKS, thread_name_prefix="task")

    def run(self, scenarios: dict[ScenarioRecording, float]) -> None:
        """Return when all are sealed; `scenarios` says how many seconds from now each is launched.

        A broken life line ends all of them as interrupted.
        """
        began_s = time.monotonic()
        try:
            while not all(each.stage is ScenarioStage.SEALED for each in scenarios):
                if self._lifeline.broken.wait(LOOK_S):
                    break
                for watched, offset_s in scenarios.items():
                    self._look(watched, launch_now=time.monotonic() - began_s >= offset_s)
        finally:
            # Twice: what is open ends at once, and what a task has begun meanwhile ends with that task.
            self._interrupt(scenarios)
            self._pool.shutdown(cancel_futures=True)
            self._interrupt(scenarios)

    def _look(self, watched: ScenarioRecording, *, launch_now: bool) -> None:
        task = self._tasks.get(watched.name)
        if task is not None:
            if not task.done():
                return
            del self._tasks[watched.name]
            task.result()
        if watched.stage is ScenarioStage.PLANNED and launch_now:
            watched.stage = ScenarioStage.LAUNCHING
            self._do(watched, lambda: self._launch(watched))
        elif watched.stage is ScenarioStage.WATCHED:
            self._attend(watched)

    def _attend(self, watched: ScenarioRecording) -> None:
        late = watched.age_s() >= watched.scenario.until.at_most_s
        if late or watched.is_complete():
            missing = watched.missing()
            watched.stage = ScenarioStage.FINISHING
            self._do(watched, lambda: self._finish(watched, missing))
        elif due := watched.due_interventions():
            self._do(watched, lambda: self._intervene(watched, due))
        elif (pokes := self._pokes.get(watched.name)) is not None and pokes.due():
            self._do(watched, lambda: self._poke(watched, pokes))

    def _do(self, watched: ScenarioRecording, task: Callable[[], None]) -> None:
        self._tasks[watched.name] = self._pool.submit(task)

    def _launch(self, watched: ScenarioRecording) -> None:
        self._begin(watched)
        assert watched.file is not None
        try:
            self._pods.create(watched)
        except CrashloopError as error:
            if isinstance(error, ApiRefusal) and not isinstance(error, CredentialsRefused):
                causes = [
                    {"field": each.field, "reason": each.reason, "message": each.message} for each in error.causes
                ]
                watched.file.seal(end_events("refused", str(error), code=error.code, causes=causes))
            else:
                watched.file.seal(end_events("interrupted", str(error)))
            watched.stage = ScenarioStage.SEALED
            log.warning("scenario %s: not launched: %s", watched.name, error)
        else:
            if watched.scenario.mode is Mode.ANNOTATED:
                self._pokes[watched.name] = Annotations()
            watched.stage = ScenarioStage.WATCHED

    def _intervene(self, watched: ScenarioRecording, due: list[int]) -> None:
        for index in due:
            event = self._hands.carry_out(watched, index)
            log.info("scenario %s: %s: %s", watched.name, event.data["action"], event.data["outcome"])
            watched.take(event)

    def _poke(self, watched: ScenarioRecording, pokes: Annotations) -> None:
        event = pokes.poke(self._api, self._namespace, watched.name)
        if event is not None:
            watched.take(event)

    def _finish(self, watched: ScenarioRecording, missing: tuple[str, ...]) -> None:
        last = self._last_words(watched)
        if (pokes := self._pokes.get(watched.name)) is not None:
            last = [*pokes.last(), *last]
        reason = "deadline" if missing else "complete"
        detail = f"still missing: {'; '.join(missing)}" if missing else "all evidence that was asked for is in"
        self._pods.finish(watched, reason=reason, detail=detail, last=last)
        watched.stage = ScenarioStage.SEALED
        log.info("scenario %s: %s after %.1f s", watched.name, reason, watched.age_s())

    def _interrupt(self, scenarios: Iterable[ScenarioRecording]) -> None:
        """Seal what is still open, without a call to anybody."""
        told = self._lifeline.broken.is_set()
        detail = "the recorder was told to stop" if told else "the recorder failed in the scenario's wave"
        for watched in scenarios:
            if watched.file is not None and not watched.file.is_sealed:
                watched.file.seal(end_events("interrupted", detail))
