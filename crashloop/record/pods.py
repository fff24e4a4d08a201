"""The pods of scenarios: created, replaced, and read out at the end."""

import logging
from collections.abc import Callable

from crashloop.errors import UsageError
from crashloop.history.event import Kind
from crashloop.kube.client import Json
from crashloop.kube.errors import ApiUnreachable, KubeError
from crashloop.pods.manifest import ephemeral_containers, pod_manifest
from crashloop.record.channels.api import api_event, take_answer
from crashloop.record.channels.events import now_ns
from crashloop.record.channels.journals import read_journals
from crashloop.record.log_files import log_files
from crashloop.record.pod_recording import PodRecording
from crashloop.record.registry_images import ScenarioImages
from crashloop.record.site import RecordingSite
from crashloop.spec.pod import GRACE_PERIOD_S
from crashloop.waiting import wait_until

ACCEPTED_WITHIN_S = 30.0
GONE_WITHIN_S = 30.0

log = logging.getLogger(__name__)


class Pods:
    """Acts on the pods of one namespace."""

    def __init__(self, site: RecordingSite) -> None:
        self._site = site
        self._api = site.api
        self._namespace = site.namespace
        self._cluster = site.cluster
        self._image = site.cluster.info.image
        self._run = site.label
        self._router = site.router

    def create(self, watched: PodRecording) -> None:
        """Create the scenario's pod. Raises ApiRefusal, and WaitTimeout if the API server is away too long."""
        scenario = watched.scenario
        images = ScenarioImages(self._site, scenario).names()
        node = watched.node.name
        manifest = pod_manifest(scenario, node=node, image=self._image, run=self._run, images=images, last_words=True)

        pod = self._accepted(watched, lambda: self._api.create_pod(self._namespace, manifest))
        uid = pod["metadata"]["uid"]
        watched.take(api_event(Kind.CREATED, uid, now_ns(), pod=pod))
        self._router.claim(uid, watched.name, watched.name)
        late = ephemeral_containers(watched.scenario, image=self._image)
        if late:
            patch = {"spec": {"ephemeralContainers": late}}
            self._api.patch_pod(self._namespace, watched.name, patch, subresource="ephemeralcontainers")

    def _accepted(self, watched: PodRecording, create: Callable[[], Json]) -> Json:
        """What `create` returns, once the API server can be reached."""

        def accepted() -> Json | None:
            try:
                return create()
            except ApiUnreachable as error:
                log.warning("scenario %s: %s", watched.name, error)
                return None

        return wait_until(f"{watched.name} to be accepted", accepted, timeout_s=ACCEPTED_WITHIN_S, every_s=0.5)

    def recreate(self, watched: PodRecording) -> None:
        """Read the pod out, delete it, and create one of the same name once it is gone."""
        self._remove(watched)
        self.create(watched)

    def delete_gracefully(self, watched: PodRecording) -> None:
        """Read the pod out and delete it; returns once it is gone."""
        self._remove(watched)
        watched.pod_deleted = True

    def request_deletion(self, watched: PodRecording) -> None:
        """Delete it, without waiting for anything."""
        self._api.delete_pod(self._namespace, watched.name, grace_s=GRACE_PERIOD_S)
        watched.pod_deleted = True

    def _remove(self, watched: PodRecording) -> None:
        self.read_out(watched)
        self._api.delete_pod(self._namespace, watched.name, grace_s=GRACE_PERIOD_S)
        wait_until(
            f"pod {watched.name} to be gone",
            lambda: not self._api.has_pod(self._namespace, watched.name),
            timeout_s=GONE_WITHIN_S,
        )

    def delete(self, watched: PodRecording) -> None:
        """Remove the pod at once."""
        try:
            self._api.delete_pod(self._namespace, watched.name, grace_s=0)
        except KubeError as error:
            log.warning("scenario %s: its pod is left behind: %s", watched.name, error)

    def edit(self, watched: PodRecording) -> None:
        """Only a static pod has a file to change."""
        raise UsageError(f"scenario {watched.name}: its pod is no static pod.")

    def delete_mirror(self, watched: PodRecording) -> None:
        """Only a static pod has a mirror pod."""
        raise UsageError(f"scenario {watched.name}: its pod is no static pod.")

    def look(self, watched: PodRecording) -> None:
        """Record what the watch of the pods does not show: nothing."""

    def read_out(self, watched: PodRecording) -> None:
        """The pod as it is now, and the journals of its containers. Nothing is left to read of a pod that was deleted."""
        if not watched.pod_deleted:
            self._read_pod(watched, watched.newest_pod)

    def _read_pod(self, watched: PodRecording, uid: str) -> None:
        try:
            take_answer(self._router, self._api.get_pod(self._namespace, watched.pods[uid]))
        except KubeError as error:
            log.warning("scenario %s: its last status cannot be read: %s", watched.name, error)
        for event in (
            *read_journals(self._api, self._namespace, watched, uid),
            *log_files(self._namespace, watched, uid),
        ):
            watched.take(event)
