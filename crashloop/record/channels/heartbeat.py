"""The heartbeat of a node that is not this host: a pod there, whose log is followed."""

import threading
import time

import msgspec
import urllib3

from crashloop.errors import ClusterError, UsageError
from crashloop.history.event import Event
from crashloop.kube.client import Json, KubeApi, lines
from crashloop.kube.errors import ApiRefusal, KubeError
from crashloop.kube.missing_image import missing_images
from crashloop.pods.manifest import HEARTBEAT, heartbeat_manifest
from crashloop.record.channels.events import Sink, now_ns
from crashloop.record.channels.follower import Follower
from crashloop.record.channels.heartbeat_clock import NodeClock, read_beat

BEATS_WITHIN_S = 120.0
"""How long the node may take to pull the image and start the pod."""
_LOOK_S = 1.0
_SILENT_S = 15.0
_RETRY_S = 0.5


class NodeHeartbeat(Follower):
    """Reports the clock and the stalls of a node to its scenarios."""

    def __init__(self, api: KubeApi, namespace: str, node: str, *, image: str, run: str, sink: Sink) -> None:
        super().__init__(f"heartbeat-{node}")
        self._api = api
        self._namespace = namespace
        self._node = node
        self._image = image
        self._manifest = heartbeat_manifest(node=node, image=image, run=run)
        self._pod: str = self._manifest["metadata"]["name"]
        self._sink = sink
        self._lock = threading.Lock()
        self._clock = NodeClock(node)
        self._warm = threading.Event()
        self._connection: urllib3.BaseHTTPResponse | None = None

    def start(self) -> None:
        """Create the pod. Raises ClusterError if the API server refuses it."""
        try:
            self._api.create_pod(self._namespace, self._manifest)
        except ApiRefusal as error:
            raise ClusterError(
                f"node {self._node}: its heartbeat pod is refused in namespace {self._namespace}.\n{error}"
            ) from error
        super().start()

    def wait_until_it_beats(self) -> None:
        """Return once the node's clock is known.

        Raises UsageError at once if the node cannot have the image, ClusterError with the pod's state if time runs out.
        """
        deadline_s = time.monotonic() + BEATS_WITHIN_S
        while not self._warm.wait(_LOOK_S):
            status = self._status()
            self._require_image(status)
            if time.monotonic() >= deadline_s:
                raise ClusterError(
                    f"node {self._node}: its heartbeat pod has been silent for {BEATS_WITHIN_S:g} s.\n"
                    f"Its status: {msgspec.json.encode(status).decode()}"
                )

    def reading(self) -> list[Event]:
        """Both clocks at the last beat."""
        with self._lock:
            return self._clock.reading()

    def stop(self) -> None:
        """End, and remove the pod."""
        self.stopped.set()
        if (connection := self._connection) is not None:
            connection.shutdown()
        super().stop()
        try:
            self._api.delete_pod(self._namespace, self._pod, grace_s=0)
        except KubeError:
            return  # it goes with the namespace, or with the run's label

    def follow(self) -> None:
        while not self.stopped.is_set():
            try:
                log = self._api.follow_log(self._namespace, self._pod, HEARTBEAT, silent_s=_SILENT_S)
                self._connection = log
                for line in lines(log, doing=f"follow the heartbeat of node {self._node}"):
                    self._take(line, now_ns())
            except KubeError:
                # Silence is what the checkers see of it: no heartbeat covers the time.
                self._connection = None
            self.stopped.wait(_RETRY_S)

    def _take(self, line: bytes, received_ns: int) -> None:
        beat = read_beat(line)
        if beat is None:
            return
        with self._lock:
            events = self._clock.take(beat, received_ns)
            warm = self._clock.is_warm
        for event in events:
            self._sink.node(self._node, event)
        if warm:
            self._warm.set()

    def _require_image(self, status: Json) -> None:
        for each in missing_images(status):
            raise UsageError(
                f"node {self._node}: it cannot have the image {self._image} ({each.reason}).\n"
                f"{each.message}\n"
                "Name an image with --image that the node has or can pull."
            )

    def _status(self) -> Json:
        """Of the pod: its phase and its containers, or the error by which it cannot be read."""
        try:
            status = self._api.get_pod(self._namespace, self._pod)["status"]
        except KubeError as error:
            return {"error": str(error)}
        return {key: status[key] for key in ("phase", "containerStatuses") if key in status}
