"""The pods of scenarios: created, replaced, read out and removed, by what makes them.

That is the recorder, a Job or a Deployment, or a file of the node.
"""

import logging
from collections.abc import Callable
from typing import Any

import msgspec

from crashloop.errors import ClusterError, UsageError
from crashloop.history.event import Kind
from crashloop.kube.answers import ApiRefusal, ApiUnreachable, KubeError
from crashloop.pods.manifest import (
    deployment_manifest,
    ephemeral_containers,
    job_manifest,
    pod_manifest,
    static_pod_manifest,
)
from crashloop.record.channels.api import api_event, take_answer
from crashloop.record.channels.channel import now_ns
from crashloop.record.channels.readout import log_files, read_journals
from crashloop.record.event_router import PodRecording
from crashloop.record.pod_dependencies import ScenarioImages
from crashloop.record.pod_progress import JobCounts
from crashloop.record.site import RecordingSite
from crashloop.waiting import pause, wait_until
from crashloop.yaml_text import Json

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

    def delete_gracefully(self, watched: PodRecording, *, read_after_s: float = 0.0) -> None:
        """Read the pod out and delete it; returns once it is gone. It is read so long after the request, or before it."""
        self._remove(watched, read_after_s)
        watched.pod_deleted = True

    def request_deletion(self, watched: PodRecording, *, at_once: bool = False) -> None:
        """Delete it, or its object `at_once`, without waiting for anything."""
        grace_s = 0 if at_once else watched.scenario.pod.grace_s
        self._api.delete_pod(self._namespace, watched.name, grace_s=grace_s)
        watched.pod_deleted = True

    def _remove(self, watched: PodRecording, read_after_s: float = 0.0) -> None:
        grace_s = watched.scenario.pod.grace_s
        if not read_after_s:
            self.read_out(watched)
        self._api.delete_pod(self._namespace, watched.name, grace_s=grace_s)
        if read_after_s:
            pause(read_after_s)
            self.read_out(watched)
        wait_until(
            f"pod {watched.name} to be gone",
            lambda: not self._api.has_pod(self._namespace, watched.name),
            timeout_s=GONE_WITHIN_S + grace_s,
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

    def renew(self, watched: PodRecording, absent_s: float) -> None:
        """Likewise to remove."""
        raise UsageError(f"scenario {watched.name}: its pod has no file to remove for {absent_s:g} s.")

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


class ControlledPods(Pods):
    """Acts on an object that makes pods, and on these."""

    kind: str
    path: str
    """Of its objects, with {} for the namespace."""

    def manifest(self, watched: PodRecording, *, image: str) -> dict[str, Any]:
        """The object."""
        raise NotImplementedError

    def create(self, watched: PodRecording) -> None:
        """Create the scenario's object. Raises ApiRefusal, and WaitTimeout if the API server is away too long."""
        self.make(watched)

    def make(self, watched: PodRecording) -> Json:
        """The object as it was accepted; the scenario's time counts from then."""
        manifest = self.manifest(watched, image=self._image)
        doing = f"create {self.kind} {watched.name}"
        made = self._accepted(watched, lambda: self._api.call(doing, "POST", self.at(), body=manifest))
        watched.began()
        return made

    def read_out(self, watched: PodRecording) -> None:
        """Its pods as they are now, and the journals of those that are still there."""
        self.look(watched)
        for uid in watched.kept_pods():
            self._read_pod(watched, uid)

    def delete(self, watched: PodRecording) -> None:
        """Remove the object, and its pods at once."""
        try:
            self._api.call(
                f"delete {self.kind} {watched.name}",
                "DELETE",
                self.at(watched.name),
                query={"propagationPolicy": "Background"},
            )
            for uid in watched.kept_pods():
                self._api.delete_pod(self._namespace, watched.pods[uid], grace_s=0)
        except KubeError as error:
            if not (isinstance(error, ApiRefusal) and error.code == 404):
                log.warning("scenario %s: its %s is left behind: %s", watched.name, self.kind, error)

    def at(self, name: str | None = None) -> str:
        return self.path.format(self._namespace) + (f"/{name}" if name else "")


class DeploymentPods(ControlledPods):
    """Acts on Deployments and their pods."""

    kind = "Deployment"
    path = "/apis/apps/v1/namespaces/{}/deployments"

    def manifest(self, watched: PodRecording, *, image: str) -> dict[str, Any]:
        return deployment_manifest(watched.scenario, node=watched.node.name, image=image, run=self._run)


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


class StaticPods(Pods):
    """Acts on files of nodes, and on mirror pods. What the recorder knows by uid is the static pod, not its mirror pod."""

    def __init__(self, site: RecordingSite) -> None:
        super().__init__(site)
        self._revision = 0
        self._read = ""
        """The pod that was read out for its last edit."""

    def create(self, watched: PodRecording) -> None:
        """Write the scenario's file. Raises ClusterError."""
        self._write(watched)
        watched.began()

    def edit(self, watched: PodRecording) -> None:
        """Read the pod out, and change its file. Raises ClusterError."""
        if watched.pods and watched.newest_pod != self._read:
            self._read = watched.newest_pod
            self.read_out(watched)
        self._revision += 1
        self._write(watched)

    def renew(self, watched: PodRecording, absent_s: float) -> None:
        """Remove its file, and write it again unchanged so long after. Raises ClusterError."""
        self._cluster.write_static_pod(watched.node.name, watched.name, None)
        pause(absent_s)
        self._write(watched)

    def delete_mirror(self, watched: PodRecording) -> None:
        """Delete the mirror pod as a user would."""
        self._api.delete_pod(self._namespace, watched.pods[watched.newest_pod])

    def delete(self, watched: PodRecording) -> None:
        """Remove the file; the kubelet ends the pod."""
        try:
            self._cluster.write_static_pod(watched.node.name, watched.name, None)
        except ClusterError as error:
            log.warning("scenario %s: its static pod is left behind: %s", watched.name, error)

    def read_out(self, watched: PodRecording) -> None:
        """Nothing is left to read of a pod whose mirror pod was never seen."""
        if watched.pods:
            super().read_out(watched)

    def _write(self, watched: PodRecording) -> None:
        manifest = static_pod_manifest(
            watched.scenario,
            node=watched.node.name,
            namespace=self._namespace,
            image=self._image,
            run=self._run,
            revision=self._revision,
        )
        self._cluster.write_static_pod(watched.node.name, watched.name, manifest)
