"""All evidence channels of a cluster, started and stopped together."""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median_low
from typing import Any

from crashloop.cluster.provider import Capability, ClusterInfo, Node
from crashloop.history.event import Channel, Event
from crashloop.kube.client import KubeApi
from crashloop.pods.manifest import RUN_LABEL, SCENARIO_LABEL
from crashloop.record.channels.api import ApiChannel, ApiControlChannel, KubernetesEventsChannel
from crashloop.record.channels.channel import gap, now_ns
from crashloop.record.channels.heartbeat import NodeHeartbeat
from crashloop.record.channels.host import HostChannel, RunQueueChannel
from crashloop.record.channels.kubelet_log import KubeletLogChannel, KubeletProcess
from crashloop.record.channels.runtime import ControlChannel, RuntimeChannel
from crashloop.record.event_router import EventRouter

RUNTIME_ANSWERS_S = 10.0

log = logging.getLogger(__name__)


class ClusterChannels:
    """Channels that a cluster cannot offer are absent; what that means for a verdict is for the checkers."""

    def __init__(
        self,
        api: KubeApi,
        namespace: str,
        run: str,
        session: EventRouter,
        on_kubelet_restart: Callable[[str, KubeletProcess], None],
        *,
        shows_events: bool,
        measures_api: bool,
    ) -> None:
        """Whether the Kubernetes Events of the pods are followed, and the API server's own time, as well."""
        self.session = session
        self._kube = api
        self._run = run
        self._namespace = namespace
        self._host = HostChannel(session)
        self._run_queues = RunQueueChannel(session)
        self._api = ApiChannel(api, namespace, label_selector=f"{RUN_LABEL}={run},{SCENARIO_LABEL}", session=session)
        events = KubernetesEventsChannel(api, namespace, session) if shows_events else None
        self._kubelet_log = KubeletLogChannel(namespace, session, on_kubelet_restart)
        came_ns = self._api.control_came_ns
        self._api_control = ApiControlChannel(api, namespace, run, came_ns, session) if measures_api else None
        own = (self._host, self._run_queues, self._api, events, self._api_control, self._kubelet_log)
        self._of_the_run = tuple(each for each in own if each is not None)
        self._runtimes: dict[str, RuntimeChannel] = {}
        self._controls: dict[str, ControlChannel] = {}
        self._heartbeats: dict[str, NodeHeartbeat] = {}
        self._of_nodes: tuple[dict[str, Any], ...] = (self._runtimes, self._controls, self._heartbeats)
        """Channels by their nodes."""

    def start(self) -> None:
        for channel in self._of_the_run:
            channel.start()

    def add_nodes(self, cluster: ClusterInfo) -> None:
        """Follow the nodes that are new in a cluster. Raises ClusterError if one elsewhere has no heartbeat."""
        for node in cluster.nodes:
            if Capability.RUNTIME_EVENTS in cluster.capabilities and node.name not in self._runtimes:
                self._follow_runtime(node)
            if Capability.KUBELET_LOG in cluster.capabilities and not self._kubelet_log.follows(node.name):
                self._follow_kubelet_log(node)
        if Capability.NODES_ON_HOST in cluster.capabilities:
            self._run_queues.add_nodes(cluster)
            self._host.writes_to(Path(cluster.kubeconfig).parent)
        else:
            self._hear([node.name for node in cluster.nodes if node.name not in self._heartbeats], cluster.image)

    def remove_nodes(self, names: Iterable[str]) -> None:
        """Let go of nodes that are about to be taken down."""
        for name in names:
            for channels in self._of_nodes:
                if name in channels:
                    channels.pop(name).stop()
            self._kubelet_log.remove(name)

    def control_takes_s(self) -> float:
        """What the recorder's own calls take now: a patch until its watch has it, or a control container of the median node."""
        of_nodes = [each.stopwatch.takes_s for each in tuple(self._controls.values())]
        return max(
            self._api_control.stopwatch.takes_s if self._api_control else 0.0, median_low(of_nodes) if of_nodes else 0.0
        )

    def process(self, node: str) -> KubeletProcess | None:
        """The node's kubelet, by its log."""
        return self._kubelet_log.process(node)

    def readings(self, node: str) -> list[Event]:
        """The clocks of a node elsewhere, as they were last heard."""
        heartbeat = self._heartbeats.get(node)
        return heartbeat.reading() if heartbeat else []

    def interruptions(self, node: str) -> list[Event]:
        """A gap up to now for every channel that is not heard at this moment and matters to a scenario on the node."""
        runtime = self._runtimes.get(node)
        broken = {
            Channel.RUNTIME: runtime.broken_since() if runtime else None,
            Channel.API: self._api.broken_since(),
            Channel.KUBELET: self._kubelet_log.broken_since(node),
        }
        return [
            gap(channel, from_ns=since[0], to_ns=now_ns(), reason=since[1], node=node)
            for channel, since in broken.items()
            if since is not None
        ]

    def stop(self) -> None:
        of_nodes = (channel for channels in self._of_nodes for channel in channels.values())
        for channel in (*of_nodes, *reversed(self._of_the_run)):
            channel.stop()

    def _follow_runtime(self, node: Node) -> None:
        if node.runtime_socket is None:
            log.warning("node %s: the cluster promises runtime events, but names no socket of its runtime", node.name)
            return
        channel = RuntimeChannel(node.name, node.runtime_socket, self._namespace, self.session)
        self._runtimes[node.name] = channel
        channel.start()
        if not channel.has_answered(within_s=RUNTIME_ANSWERS_S):
            log.warning("node %s: its runtime has not answered within %g s", node.name, RUNTIME_ANSWERS_S)
        self._controls[node.name] = ControlChannel(
            node.name, node.runtime_socket, self.session, between=channel.ask_for_refused
        )
        self._controls[node.name].start()

    def _hear(self, nodes: list[str], image: str) -> None:
        started = {
            name: NodeHeartbeat(self._kube, self._namespace, name, image=image, run=self._run, sink=self.session)
            for name in nodes
        }
        self._heartbeats.update(started)
        for heartbeat in started.values():
            heartbeat.start()
        for heartbeat in started.values():
            heartbeat.wait_until_it_beats()

    def _follow_kubelet_log(self, node: Node) -> None:
        if node.kubelet_log is None:
            log.warning("node %s: the cluster promises the kubelet's log, but names no file", node.name)
            return
        self._kubelet_log.add(node.name, Path(node.kubelet_log))
