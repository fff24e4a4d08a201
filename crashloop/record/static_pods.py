"""The static pods of scenarios: files of the node, which the kubelet makes pods of and shows as mirror pods."""

import logging

from crashloop.errors import ClusterError
from crashloop.pods.static_pod import static_pod_manifest
from crashloop.record.pod_recording import PodRecording
from crashloop.record.pods import Pods
from crashloop.record.site import RecordingSite

log = logging.getLogger(__name__)


class StaticPods(Pods):
    """Acts on files of nodes, and on mirror pods. What the recorder knows by uid is the static pod, not its mirror pod."""

    def __init__(self, site: RecordingSite) -> None:
        super().__init__(site)
        self._revision = 0

    def create(self, watched: PodRecording) -> None:
        """Write the scenario's file. Raises ClusterError."""
        self._write(watched)
        watched.began()

    def edit(self, watched: PodRecording) -> None:
        """Read the pod out, and change its file. Raises ClusterError."""
        self.read_out(watched)
        self._revision += 1
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
