"""Writes one history per pod of a load, from the first event about the pod until the pod is gone.

Theory of operation. Pods of a load are not planned individually, so there is no list of scenarios: a pod's name gives its
load, and the load the pod's scenario (crashloop.stress.pods). So a scenario is found by the pod's name, without a wait for
its uid. The channels are those of every run (crashloop.record.channels.cluster_channels).
"""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from crashloop.cluster.provider import ClusterInfo, Node
from crashloop.history.event import Channel, Event, Kind
from crashloop.history.journal import journal_events, read_journal
from crashloop.kube.watch import PodObject
from crashloop.record.channels.api import api_event, take_status
from crashloop.record.channels.events import now_ns
from crashloop.record.event_router import EventRouter, Listener
from crashloop.record.history_ends import begin_event, end_events, start_history
from crashloop.record.pod_recording import PodRecording
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.assignment import journal_path
from crashloop.stress.awaited_images import AwaitedImages
from crashloop.stress.loads import ASKED_ANNOTATION, AnyLoad, Crash, load_of
from crashloop.stress.pods import scenario_of
from crashloop.stress.unplaced import UnplacedPods, node_of

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
        *,
        are_spread: bool = False,
    ) -> None:
        """`nodes` are by their names in the profile; `about` gives the facts of a node, by the Node object's name.

        `load_dir` is where the load generator keeps journals. `are_spread`: pods are where the scheduler places them, and `nodes`
        are by the names of the Node objects.
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
        self._on_node: defaultdict[str, dict[str, PodRecording]] = defaultdict(dict)
        """Those that are open, by the Node object's name: every node says something each second."""
        self._closed: set[str] = set()
        self._strangers: set[str] = set()
        self._gone_s: dict[str, float] = {}
        self._are_spread = are_spread
        self.unplaced = UnplacedPods()
        """Where pods are spread: those whose history cannot begin yet."""
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
        if self._are_spread and not self._has_place(pod):
            return None
        watched = self.find(about.name, node_of(pod) if self._are_spread else None)
        if watched is None or about.uid in watched.pods:
            return watched
        watched.joined(about.uid, about.name)
        asked = about.annotations.get(ASKED_ANNOTATION, "")
        if asked.isdecimal():
            made = {"metadata": {"name": about.name, "uid": about.uid, "labels": about.labels}}
            watched.take(api_event(Kind.CREATED, about.uid, int(asked), pod=made))
        for received_ns, before in self.unplaced.placed(about.name):
            take_status(watched, before, received_ns)
        return watched

    def _has_place(self, pod: PodObject) -> bool:
        """Whether a pod is on a node of the run; one of a load that is not, is kept until it is."""
        name, node = pod.metadata.name, node_of(pod)
        if node in self._nodes or load_of(name, tuple(self._loads)) is None:
            return True
        if node:
            self.unplaced.stray(name, node)
        else:
            self.unplaced.take(pod, now_ns())
        return False

    def find(self, pod: str, node: str | None = None) -> PodRecording | None:
        """The scenario of the pod of that name; None if it belongs to no load, or its history is sealed.

        `node` is the Node object where a pod that is spread was placed: until that is known no history begins.
        """
        with self._own_lock:
            if pod in self._open or pod in self._closed:
                return self._open.get(pod)
            load = load_of(pod, tuple(self._loads))
            if load is None:
                if pod not in self._strangers:
                    log.info("pod %s belongs to no load; what happens to it is not recorded", pod)
                self._strangers.add(pod)
                return None
            if self._are_spread and node is None:
                return None
            self._open[pod] = self._begin(pod, self._loads[load], node or self._loads[load].node)
            return self._open[pod]

    def pod(self, pod: str, event: Event) -> None:
        if (watched := self.find(pod)) is not None:
            watched.take(event)
        if event.channel is Channel.RUNTIME and event.kind is Kind.STARTED:
            self.starts += 1
        elif event.kind is Kind.DELETED:
            if watched is not None:
                self._gone_s[pod] = time.monotonic()
            self.unplaced.gone(pod)
            self.images.forget(pod)

    def on_node(self, node: str) -> list[Listener]:
        """All pods on a node whose histories are open."""
        with self._own_lock:
            return list(self._on_node[node].values())

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

    def _begin(self, pod: str, load: AnyLoad, place: str) -> PodRecording:
        node, kubelet = self._nodes[place]
        watched = PodRecording(scenario_of(load, pod, profile=kubelet.name), node, self._info)
        version = self._info.kubernetes_version
        begin = begin_event(
            watched.scenario, node=node.name, kubernetes_version=version, profile=kubelet, feature_gates={}
        )
        watched.begin(start_history(self._history(pod), begin, *self._about(node.name)))
        super().watch([watched])
        self._on_node[node.name][pod] = watched
        self.pods += 1
        return watched

    def _seal(self, pod: str, reason: str, detail: str) -> None:
        with self._own_lock:
            watched = self._open.pop(pod)
            del self._on_node[watched.node_name][pod]
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
