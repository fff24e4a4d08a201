"""Records a stress run: histories of the pods by every channel, and metrics of every component.

Theory of operation. A history of a pod begins with the first event about it, and ends when the pod is gone. Pods of a load are
not planned individually, so there is no list of scenarios: a pod's name gives its load, and the load the pod's scenario
(crashloop.stress.pods). So a scenario is found by the pod's name, without a wait for its uid. The channels are those of every
run (crashloop.record.channels.cluster_channels).
"""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from crashloop.cluster.provider import Capability, ClusterInfo, Node
from crashloop.history.event import Channel, Event, Kind
from crashloop.history.journal import journal_events, read_journal
from crashloop.kube.watch import PodObject
from crashloop.measure.measuring import Measuring, Scraped, scraped
from crashloop.record.channels.api import api_event, take_status
from crashloop.record.channels.channel import now_ns
from crashloop.record.channels.cluster_channels import ClusterChannels
from crashloop.record.channels.kubelet_log import KubeletProcess
from crashloop.record.event_router import EventRouter, Listener, PodRecording
from crashloop.record.history_file import begin_event, end_events, start_history
from crashloop.record.scenario_loop import Lifeline, ThreadCrashes
from crashloop.record.site import awaited_configz, node_event, read_configz
from crashloop.slo.rows import SloRow, families_of
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.assignment import journal_path
from crashloop.stress.folder import StressDir
from crashloop.stress.loads import ASKED_ANNOTATION, AnyLoad, Crash, load_of
from crashloop.stress.pending_pods import AwaitedImages, UnplacedPods, node_of
from crashloop.stress.plan import StressPlan
from crashloop.stress.pods import scenario_of
from crashloop.stress.profile import StressProfile
from crashloop.stress.testbed import Site

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


LAST_WORDS_S = 2.0
"""Time after the load in which runtime and kubelets may still report on it."""


class StressEvidence:
    """Records from `recording` to its end."""

    def __init__(self, run: StressDir, plan: StressPlan, rows: tuple[SloRow, ...], site: Site) -> None:
        """`rows` add metrics to those that are always kept."""
        self._site = site
        self._plan = plan
        nodes = {name: (node, plan.kubelet(name)) for name, node in site.nodes.items()}
        self._kubelets: dict[str, KubeletProfile] = {node.name: kubelet for node, kubelet in nodes.values()}
        self._about: dict[str, Event] = {}
        self._crashes = ThreadCrashes()
        self._over = threading.Event()
        self.session = LoadEventRouter(
            plan.load.loads,
            nodes,
            site.info,
            run.history,
            lambda node: (self._about[node], *self._rig.readings(node)),
            run.load_dir,
            are_spread=bool(plan.spread),
        )
        self._rig = ClusterChannels(
            site.api,
            site.namespace,
            site.run,
            self.session,
            self._kubelet_restarted,
            shows_events=False,
            measures_api=False,
        )
        self._measuring = Measuring(
            site.api,
            msgspec.structs.replace(site.info, nodes=tuple(site.nodes.values())),
            run.metrics_dir,
            interval_s=plan.load.scrape_every_s,
            families=families_of(rows),
            scraped=scraped_of(plan.load, [node.name for node in site.nodes.values()]),
        )

    @property
    def crash(self) -> BaseException | None:
        """What ended a channel, such as a watch that the API server refuses; None while all of them follow."""
        return self._crashes.first

    @contextmanager
    def recording(self, lifeline: Lifeline) -> Iterator[None]:
        """Record; afterwards every history is sealed."""
        with self._crashes:
            self._rig.start()
            try:
                self._rig.add_nodes(self._site.info)
                self._about = {node.name: self._describe(node) for node in self._site.nodes.values()}
                with self._measuring:
                    yield
                    lifeline.broken.wait(LAST_WORDS_S)
            finally:
                self._over.set()
                self._rig.stop()
                reason = "interrupted" if lifeline.broken.is_set() else "deadline"
                self.session.close(reason, "the run has ended")

    def add_harness(self, pid: int) -> None:
        """Count a process as part of the harness."""
        self._measuring.add_harness(pid)

    def place(self, hosts: Mapping[str, str]) -> None:
        """From now on the nodes of the profile are these Node objects."""
        on_host = {node.name: node for node in self._site.nodes.values()}
        nodes = {name: (on_host[host], self._plan.kubelet(name)) for name, host in hosts.items()}
        self._kubelets = {node.name: kubelet for node, kubelet in nodes.values()}
        self.session.place(nodes)

    def scrape(self) -> None:
        """Scrape all sources now, for the edge of a measurement."""
        self._measuring.scrape_now()

    @property
    def _has_configz(self) -> bool:
        return Capability.CONFIGZ in self._site.info.capabilities

    def _describe(self, node: Node) -> Event:
        configz = read_configz(self._site.api, node.name) if self._has_configz else None
        return node_event(node.name, self._kubelets[node.name], configz, self._rig.process(node.name))

    def _kubelet_restarted(self, name: str, process: KubeletProcess) -> None:
        threading.Thread(target=self._answer, args=(name, process), name=f"restart-{name}", daemon=True).start()

    def _answer(self, name: str, process: KubeletProcess) -> None:
        """The restarted kubelet and its configuration, which it shows some seconds later."""
        configz = awaited_configz(self._site.api, name, is_over=self._over.is_set) if self._has_configz else None
        if self._rig.process(name) in (None, process):
            self._about[name] = node_event(name, self._kubelets[name], configz, process)
            self.session.node(name, self._about[name])


def scraped_of(profile: StressProfile, names: Sequence[str]) -> Scraped:
    """The nodes whose metrics are scraped: all that have an arm, since each of them is one side of a comparison."""
    compares = any(node.arm for node in profile.nodes)
    return scraped(names, at_most=len(names) if compares else profile.scrape_nodes, seed=profile.scrape_seed)
