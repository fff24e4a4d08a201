"""The steps of a pod scenario: launch, attend (patches of the annotated mode, interventions), finish."""

import logging
import time
from collections.abc import Callable, Mapping
from types import NoneType

from crashloop.cluster.provider import Node
from crashloop.errors import CrashloopError
from crashloop.history.event import Event
from crashloop.kube.answers import ApiRefusal, CredentialsRefused
from crashloop.record.event_router import PodRecording
from crashloop.record.history_file import end_events
from crashloop.record.interventions import Annotations, Interventions
from crashloop.record.pod_dependencies import ConfigObjects, ScenarioImages
from crashloop.record.pods import DeploymentPods, JobPods, Pods, StaticPods
from crashloop.record.scenario_loop import ScenarioStage
from crashloop.record.site import RecordingSite
from crashloop.spec.owner import Deployment, Job, Owner, StaticPod
from crashloop.spec.scenario import Mode, PodScenario

LOOK_S = 1.0
"""Between two looks at a Job."""

OWNERS: Mapping[type[Owner] | type[None], type[Pods]] = {
    NoneType: Pods,
    Job: JobPods,
    Deployment: DeploymentPods,
    StaticPod: StaticPods,
}
"""What makes, changes and removes the pods, by their owner."""

log = logging.getLogger(__name__)


class ActivePod:
    """Implements `crashloop.record.scenario_loop.ActiveScenario` for a pod."""

    def __init__(self, scenario: PodScenario, node: Node, site: RecordingSite) -> None:
        self.stage = ScenarioStage.LAUNCHING
        self._site = site
        self._recording = PodRecording(scenario, node, site.cluster.info)
        self._pods = OWNERS[type(scenario.owner)](site)
        self._looked_s = time.monotonic()
        registry = site.cluster.registry
        address = None if registry is None else registry.address
        self._objects = ConfigObjects(site.api, site.namespace, run=site.label, registry=address)
        self._images = ScenarioImages(site, scenario)
        self._hands = Interventions(site, pods=self._pods, objects=self._objects, images=self._images)
        self._pokes: Annotations | None = None
        self._about: Event | None = None

    @property
    def name(self) -> str:
        return self._recording.name

    @property
    def node_name(self) -> str:
        return self._recording.node_name

    def step(self) -> Callable[[], None] | None:
        if self.stage is ScenarioStage.LAUNCHING:
            return self._launch
        recording = self._recording
        late = recording.age_s() >= recording.scenario.until.at_most_s
        if late or recording.is_complete():
            self.stage = ScenarioStage.FINISHING
            missing = recording.missing()
            return lambda: self._finish(missing)
        if due := recording.due_interventions():
            return lambda: self._intervene(due)
        if signals := recording.due_signals():
            return lambda: self._hands.send(recording, signals)
        if self._pokes is not None and self._pokes.due(time.monotonic()):
            return self._poke
        if recording.scenario.job is not None and time.monotonic() - self._looked_s >= LOOK_S:
            return self._look
        return None

    def interrupt(self, detail: str) -> None:
        self._seal(end_events("interrupted", detail))
        self._hands.join()

    def _launch(self) -> None:
        site, recording = self._site, self._recording
        about = site.about(recording.node)
        self._about = about[0]
        recording.begin(site.begin(recording.scenario, recording.node, *about))
        site.router.watch((recording,))
        try:
            site.wait_until_ready(recording.node)
            self._images.offer_first()
            self._objects.create_present(recording.scenario)
            self._intervene(recording.before_pod())
            self._pods.create(recording)
        except CrashloopError as error:
            log.warning("scenario %s: not launched: %s", self.name, error)
            if isinstance(error, ApiRefusal) and not isinstance(error, CredentialsRefused):
                causes = [
                    {"field": each.field, "reason": each.reason, "message": each.message} for each in error.causes
                ]
                self._seal(end_events("refused", str(error), code=error.code, causes=causes))
            else:
                self._seal(end_events("interrupted", str(error)))
            self._hands.restore(self.node_name, self._recording.scenario.profile)
        else:
            if recording.scenario.mode is Mode.ANNOTATED:
                self._pokes = Annotations(self.name, time.monotonic())
            self.stage = ScenarioStage.WATCHED

    def _intervene(self, due: list[int]) -> None:
        for index in due:
            self._hands.carry_out(self._recording, index)

    def _poke(self) -> None:
        assert self._pokes is not None
        event = self._pokes.poke(self._site.api, self._site.namespace, self.name)
        if event is not None:
            self._recording.take(event)

    def _look(self) -> None:
        self._looked_s = time.monotonic()
        self._pods.look(self._recording)

    def _finish(self, missing: tuple[str, ...]) -> None:
        assert self._about is not None
        self._hands.join()
        recording = self._recording
        last = [*self._site.samples(recording.scenario, recording.node, recording.pods)]
        self._pods.read_out(recording)
        for request in self._images.requests():
            recording.take(request)
        last += self._site.last_words(self._recording.node, since=self._about)
        if self._pokes is not None:
            last = [*self._pokes.last(), *last]
        reason = "deadline" if missing else "complete"
        detail = f"still missing: {'; '.join(missing)}" if missing else "all requested evidence is recorded"
        self._seal((*last, *end_events(reason, detail)))
        self._pods.delete(self._recording)
        self._objects.delete_all(self._recording.scenario)
        self._images.forget()
        self._hands.restore(self.node_name, self._recording.scenario.profile)
        log.info("scenario %s: %s after %.1f s", self.name, reason, self._recording.age_s())

    def _seal(self, last: tuple[Event, ...]) -> None:
        self._recording.seal(last)
        self._site.router.unwatch(self.name)
        self.stage = ScenarioStage.SEALED
