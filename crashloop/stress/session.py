"""Writes one history per pod of a load, from the first event about the pod until the pod is gone.

Theory of operation. Pods of a load are not planned individually, so there is no list of scenarios: a pod's name gives its
load, and the load the pod's scenario (crashloop.stress.pods). So a scenario is found by the pod's name, without a wait for
its uid. The channels are those of every run (crashloop.record.channels.cluster_channels).
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from crashloop.cluster.provider import ClusterInfo, Node
from crashloop.history.event import Channel, Event, Kind
from crashloop.history.journal import journal_events, read_journal
from crashloop.kube.watch import PodObject
from crashloop.record.channels.api import api_event
from crashloop.record.channels.events import now_ns
from crashloop.record.event_router import EventRouter
from crashloop.record.history_ends import begin_event, end_events, start_history
from crashloop.record.pod_recording import PodRecording
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.assignment import journal_path
from crashloop.stress.awaited_images import AwaitedImages
from crashloop.stress.loads import ASKED_ANNOTATION, AnyLoad, Crash, load_of
from crashloop.stress.pods import scenario_of

SETTLES_S = 5.0
"""Time after a pod's end in which the runtime may still report on it."""

log = logging.getLogger(__name__)


class LoadEventRouter(EventRouter):
    """Writes events about the pods of loads into one history per pod."""

    def __init__(
        self,
        loads: Mapping[str, AnyLoad],
        nodes: Mapping[str, tuple[Node, KubeletProfile]],
        info: ClusterInfo,
        history: Callable[[str], Path],
        about: Callable[[str], tuple[Event, ...]],
        load_dir: Path,
    ) -> None:
        """`nodes` are by their names in the profile; `about` gives the facts of a node, by the Node object's name.

        `load_dir` is where the load generator keeps journals.
        """
        super().__init__()
        self._loads = loads
        self._nodes = nodes
        self._info = info
        self._history = history
        self._about = about
        self._load_dir = load_dir
        self._own_lock = threading.Lock()
        self._open: dict[str, PodRecording] = {}
        self._closed: set[str] = set()
        self._strangers: set[str] = set()
        self._gone_s: dict[str, float] = {}
        self.images = AwaitedImages([name for name, load in loads.items() if isinstance(load, Crash) and load.own])
        self.starts = 0
        """Container starts so far, by the runtime."""
        self.pods = 0
        """Pods reported so far."""

    @property
    def present(self) -> int:
        """Present pods, as far as is known."""
        return len(self._open) - len(self._gone_s)

    def met(self, pod: PodObject) -> PodRecording | None:
        """Begin the history of a pod with the time of its create request, which is an annotation of the pod."""
        about = pod.metadata
        if self.images.concern(load_of(about.name, tuple(self._loads))):
            self.images.take(about.name, msgspec.json.decode(pod.status), time.monotonic())
        watched = self.find(about.name)
        if watched is None or about.uid in watched.pods:
            return watched
        watched.joined(about.uid, about.name)
        asked = about.annotations.get(ASKED_ANNOTATION, "")
        if asked.isdecimal():
            made = {"metadata": {"name": about.name, "uid": about.uid, "labels": about.labels}}
            watched.take(api_event(Kind.CREATED, about.uid, int(asked), pod=made))
        return watched

    def find(self, pod: str) -> PodRecording | None:
        """The scenario of the pod of that name; None if it belongs to no load, or its history is sealed."""
        with self._own_lock:
            if pod in self._open or pod in self._closed:
                return self._open.get(pod)
            load = load_of(pod, tuple(self._loads))
            if load is None:
                if pod not in self._strangers:
                    log.info("pod %s belongs to no load; what happens to it is not recorded", pod)
                self._strangers.add(pod)
                return None
            self._open[pod] = self._begin(pod, self._loads[load])
            return self._open[pod]

    def pod(self, pod: str, event: Event) -> None:
        if (watched := self.find(pod)) is not None:
            watched.take(event)
        if event.channel is Channel.RUNTIME and event.kind is Kind.STARTED:
            self.starts += 1
        elif event.kind is Kind.DELETED:
            self._gone_s[pod] = time.monotonic()
            self.images.forget(pod)

    def place(self, nodes: Mapping[str, tuple[Node, KubeletProfile]]) -> None:
        """Histories that begin from now on are those of pods on these nodes."""
        self._nodes = nodes

    def sweep(self) -> None:
        """Seal the histories of pods that have been gone for a while."""
        now_s = time.monotonic()
        for pod, gone_s in list(self._gone_s.items()):
            if now_s - gone_s >= SETTLES_S:
                del self._gone_s[pod]
                self._seal(pod, "complete", "the pod is gone")

    def close(self, reason: str, detail: str) -> None:
        """Seal what is open."""
        for pod in list(self._open):
            gone = pod in self._gone_s
            self._seal(pod, "complete" if gone else reason, "the pod is gone" if gone else detail)

    def _begin(self, pod: str, load: AnyLoad) -> PodRecording:
        node, kubelet = self._nodes[load.node]
        watched = PodRecording(scenario_of(load, pod, profile=kubelet.name), node, self._info)
        version = self._info.kubernetes_version
        begin = begin_event(
            watched.scenario, node=node.name, kubernetes_version=version, profile=kubelet, feature_gates={}
        )
        watched.begin(start_history(self._history(pod), begin, *self._about(node.name)))
        super().watch([watched])
        self.pods += 1
        return watched

    def _seal(self, pod: str, reason: str, detail: str) -> None:
        with self._own_lock:
            watched = self._open.pop(pod)
            self._closed.add(pod)
        super().unwatch(pod)
        for event in self._journals(watched):
            watched.take(event)
        watched.seal(end_events(reason, detail))

    def _journals(self, watched: PodRecording) -> Iterator[Event]:
        """What was kept of the journals of a pod's containers."""
        for container in watched.scenario.pod.containers:
            path = journal_path(self._load_dir, watched.name, container.name)
            if path.exists() and watched.pods:
                yield from journal_events(
                    read_journal(path.read_text(encoding="utf-8")),
                    pod_uid=watched.newest_pod,
                    container=container.name,
                    node=watched.node.name,
                    received_ns=now_ns(),
                )
