"""The pods of a scenario that a controller makes: its object is created, read out and removed with all its pods."""

import logging
from typing import Any

from crashloop.kube.client import Json
from crashloop.kube.errors import ApiRefusal, KubeError
from crashloop.pods.deployment import deployment_manifest
from crashloop.record.pod_recording import PodRecording
from crashloop.record.pods import Pods

log = logging.getLogger(__name__)


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
