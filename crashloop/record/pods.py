"""The pods of scenarios: created, replaced, and read out at the end."""

import logging

from crashloop.history.event import Event, Kind
from crashloop.kube.client import Json, KubeApi
from crashloop.kube.errors import ApiRefusal, ApiUnreachable, KubeError
from crashloop.pods.manifest import GRACE_PERIOD_S, ephemeral_containers, pod_manifest
from crashloop.record.channels.api import api_event, take_answer
from crashloop.record.channels.events import now_ns
from crashloop.record.channels.journals import read_journals
from crashloop.record.event_router import EventRouter
from crashloop.record.scenario_recording import ScenarioRecording, end_events
from crashloop.waiting import wait_until

ACCEPTED_WITHIN_S = 30.0
GONE_WITHIN_S = 30.0

log = logging.getLogger(__name__)


class Pods:
    """Acts on the pods of one namespace."""

    def __init__(self, api: KubeApi, namespace: str, *, image: str, run: str, session: EventRouter) -> None:
        self._api = api
        self._namespace = namespace
        self._image = image
        self._run = run
        self._session = session

    def create(self, watched: ScenarioRecording) -> None:
        """Create the scenario's pod. Raises ApiRefusal, and WaitTimeout if the API server is away too long."""
        manifest = pod_manifest(watched.scenario, node=watched.node.name, image=self._image, run=self._run)

        def accepted() -> Json | None:
            try:
                return self._api.create_pod(self._namespace, manifest)
            except ApiUnreachable as error:
                log.warning("scenario %s: %s", watched.name, error)
                return None

        pod = wait_until(f"pod {watched.name} to be accepted", accepted, timeout_s=ACCEPTED_WITHIN_S, every_s=0.5)
        uid = pod["metadata"]["uid"]
        watched.created(uid)
        watched.take(api_event(Kind.CREATED, uid, now_ns(), pod=pod))
        late = ephemeral_containers(watched.scenario, image=self._image)
        if late:
            patch = {"spec": {"ephemeralContainers": late}}
            self._api.patch_pod(self._namespace, watched.name, patch, subresource="ephemeralcontainers")

    def recreate(self, watched: ScenarioRecording) -> None:
        """Read the pod out, delete it, and create one of the same name once it is gone."""
        self._read_out(watched)
        self._api.delete_pod(self._namespace, watched.name, grace_s=GRACE_PERIOD_S)

        def gone() -> bool:
            try:
                self._api.get_pod(self._namespace, watched.name)
            except ApiRefusal as error:
                if error.code != 404:
                    raise
                return True
            return False

        wait_until(f"pod {watched.name} to be gone", gone, timeout_s=GONE_WITHIN_S)
        self.create(watched)

    def finish(self, watched: ScenarioRecording, *, reason: str, detail: str, last: list[Event]) -> None:
        """Read the last evidence, seal the history, and delete the pod."""
        self._read_out(watched)
        assert watched.file is not None
        watched.file.seal([*last, *end_events(reason, detail)])
        try:
            self._api.delete_pod(self._namespace, watched.name, grace_s=0)
        except KubeError as error:
            log.warning("scenario %s: its pod is left behind: %s", watched.name, error)

    def _read_out(self, watched: ScenarioRecording) -> None:
        """The pod as it is now, and the journals of its containers."""
        try:
            take_answer(self._session, self._api.get_pod(self._namespace, watched.name))
        except KubeError as error:
            log.warning("scenario %s: its last status cannot be read: %s", watched.name, error)
        for event in read_journals(self._api, self._namespace, watched):
            watched.take(event)
