"""The pods of a scenario with a Job: the Job is created, followed, read out and removed with all its pods."""

import logging

import msgspec

from crashloop.history.event import Kind
from crashloop.kube.client import Json
from crashloop.kube.errors import ApiRefusal, KubeError
from crashloop.pods.job import job_manifest
from crashloop.record.channels.api import api_event
from crashloop.record.channels.events import now_ns
from crashloop.record.counts import JobCounts
from crashloop.record.pod_recording import PodRecording
from crashloop.record.pods import Pods

log = logging.getLogger(__name__)


class JobPods(Pods):
    """Acts on Jobs and their pods."""

    def create(self, watched: PodRecording) -> None:
        """Create the scenario's Job. Raises ApiRefusal, and WaitTimeout if the API server is away too long."""
        manifest = job_manifest(watched.scenario, node=watched.node.name, image=self._image, run=self._run)
        doing = f"create Job {watched.name}"
        job = self._accepted(watched, lambda: self._api.call(doing, "POST", self._path(), body=manifest))
        watched.began()
        self._take(watched, job)

    def look(self, watched: PodRecording) -> None:
        """Record the Job as it is now."""
        try:
            self._take(watched, self._api.call(f"read Job {watched.name}", "GET", self._path(watched.name)))
        except KubeError as error:
            log.warning("scenario %s: its Job cannot be read: %s", watched.name, error)

    def read_out(self, watched: PodRecording) -> None:
        """The Job and its pods as they are now, and the journals of those that are still there."""
        self.look(watched)
        for uid in watched.kept_pods():
            self._read_pod(watched, uid)

    def delete(self, watched: PodRecording) -> None:
        """Remove the Job, and its pods at once."""
        try:
            self._api.call(
                f"delete Job {watched.name}",
                "DELETE",
                self._path(watched.name),
                query={"propagationPolicy": "Background"},
            )
            for uid in watched.kept_pods():
                self._api.delete_pod(self._namespace, watched.pods[uid], grace_s=0)
        except KubeError as error:
            if not (isinstance(error, ApiRefusal) and error.code == 404):
                log.warning("scenario %s: its Job is left behind: %s", watched.name, error)

    def _take(self, watched: PodRecording, job: Json) -> None:
        version, status = job["metadata"]["resourceVersion"], job.get("status") or {}
        event = api_event(Kind.JOB, None, now_ns(), resource_version=version, status=status)
        watched.take_job(event, msgspec.convert(status, JobCounts), version)

    def _path(self, name: str | None = None) -> str:
        return f"/apis/batch/v1/namespaces/{self._namespace}/jobs" + (f"/{name}" if name else "")
