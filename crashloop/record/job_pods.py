"""The pods of a scenario with a Job, which is followed as well."""

import logging
from typing import Any

import msgspec

from crashloop.history.event import Kind
from crashloop.kube.client import Json
from crashloop.kube.errors import KubeError
from crashloop.pods.job import job_manifest
from crashloop.record.channels.api import api_event
from crashloop.record.channels.events import now_ns
from crashloop.record.controlled_pods import ControlledPods
from crashloop.record.counts import JobCounts
from crashloop.record.pod_recording import PodRecording
from crashloop.record.registry_images import ScenarioImages

log = logging.getLogger(__name__)


class JobPods(ControlledPods):
    """Acts on Jobs and their pods."""

    kind = "Job"
    path = "/apis/batch/v1/namespaces/{}/jobs"

    def manifest(self, watched: PodRecording, *, image: str) -> dict[str, Any]:
        images = ScenarioImages(self._site, watched.scenario).names()
        return job_manifest(watched.scenario, node=watched.node.name, image=image, run=self._run, images=images)

    def create(self, watched: PodRecording) -> None:
        """Create the scenario's Job. Raises ApiRefusal, and WaitTimeout if the API server is away too long."""
        self._take(watched, self.make(watched))

    def look(self, watched: PodRecording) -> None:
        """Record the Job as it is now."""
        try:
            self._take(watched, self._api.call(f"read Job {watched.name}", "GET", self.at(watched.name)))
        except KubeError as error:
            log.warning("scenario %s: its Job cannot be read: %s", watched.name, error)

    def _take(self, watched: PodRecording, job: Json) -> None:
        version, status = job["metadata"]["resourceVersion"], job.get("status") or {}
        event = api_event(Kind.JOB, None, now_ns(), resource_version=version, status=status)
        watched.take_job(event, msgspec.convert(status, JobCounts), version)
