"""Runs the waves of a plan on one cluster: nodes, namespace, channels, scenarios."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from crashloop.cluster.provider import Capability, Cluster, Node, NodeRequest, Progress
from crashloop.history.event import Event
from crashloop.kube.client import Json, KubeApi
from crashloop.kube.errors import KubeError
from crashloop.pods.manifest import RUN_LABEL
from crashloop.record.channels.cluster_channels import ClusterChannels
from crashloop.record.channels.kubelet_log import KubeletProcess
from crashloop.record.channels.node_restarts import NodeSign, news, read_sign
from crashloop.record.director import Director
from crashloop.record.environment import read_environment
from crashloop.record.event_router import EventRouter
from crashloop.record.interventions import Interventions
from crashloop.record.lifeline import Lifeline
from crashloop.record.naming import run_name
from crashloop.record.nodes import node_event, read_configz
from crashloop.record.placement import match, place
from crashloop.record.pods import Pods
from crashloop.record.scenario_recording import ScenarioRecording
from crashloop.record.schedule import launch_offsets
from crashloop.record.startup import StartupTrials
from crashloop.rundir import RunDir
from crashloop.spec.plan import Plan, PlannedNode, Wave
from crashloop.spec.scenario import PodScenario, StartupScenario
from crashloop.waiting import WaitTimeout, wait_until

NAMESPACE_PREFIX = "crashloop-"
KUBELET_ANSWERS_S = 30.0

log = logging.getLogger(__name__)


def requests(plan: Plan, wave: Wave) -> tuple[NodeRequest, ...]:
    """The nodes that a wave needs."""
    return tuple(NodeRequest(name=node.name, profile=plan.profile(node.profile)) for node in wave.nodes)


def first_requests(plan: Plan, capabilities: frozenset[Capability]) -> tuple[NodeRequest, ...]:
    """The nodes to begin with: those of the first wave, or of all waves where nodes cannot change."""
    if Capability.NODES_CHANGE in capabilities:
        return requests(plan, plan.waves[0])
    wanted: dict[str, PlannedNode] = {}
    for wave in plan.waves:
        present = [Node(name=each.name, profile=each.profile) for each in wanted.values()]
        matched = match(wave.nodes, present)
        wanted |= {each.name: each for each in wave.nodes if each.name not in matched}
    return tuple(NodeRequest(name=each.name, profile=plan.profile(each.profile)) for each in wanted.values())


class Waves:
    """Records a plan on a cluster that is up. Nodes that are `lent` were there before and stay."""

    def __init__(
        self,
        run: RunDir,
        plan: Plan,
        cluster: Cluster,
        lifeline: Lifeline,
        progress: Progress,
        *,
        lent: frozenset[str] = frozenset(),
    ) -> None:
        self._run = run
        self._plan = plan
        self._cluster = cluster
        self._lifeline = lifeline
        self._progress = progress
        self._lent = lent
        self._session = EventRouter()
        self._api = KubeApi(cluster.info.kubeconfig, context=cluster.info.context)
        self._label = run_name(run.root.absolute())
        self._nodes_ever: dict[str, Node] = {}
        self._facts_ever: dict[str, Json] = {}

    def record(self) -> None:
        """Record wave after wave; returns early when the life line breaks."""
        with self._namespace() as namespace:
            rig = ClusterChannels(self._api, namespace, self._label, self._session, self._kubelet_restarted)
            rig.start()
            try:
                for index, wave in enumerate(self._plan.waves):
                    if not self._lifeline.broken.is_set():
                        self._change_nodes(wave, rig)
                        log.info("wave %d of %d: %d scenarios", index + 1, len(self._plan.waves), len(wave.placements))
                        self._record(wave, rig, namespace)
            finally:
                rig.stop()

    @contextmanager
    def _namespace(self) -> Iterator[str]:
        given = self._cluster.info.namespace
        if given is not None:
            yield given
            return
        name = self._api.create_namespace(prefix=NAMESPACE_PREFIX, labels={RUN_LABEL: self._label})
        try:
            self._api.wait_for_default_service_account(name)
            yield name
        finally:
            try:
                self._api.delete_namespace(name)
            except KubeError as error:
                log.warning("namespace %s is left behind: %s", name, error)

    def _change_nodes(self, wave: Wave, rig: ClusterChannels) -> None:
        """Take down what the wave does not need, then bring up what it lacks."""
        present = self._cluster.info.nodes
        matched = match(wave.nodes, present)
        surplus = {node.name for node in present} - {node.name for node in matched.values()} - self._lent
        if surplus and Capability.NODES_CHANGE in self._cluster.info.capabilities:
            self._cluster.collect_logs(self._run.logs_dir)
            rig.remove_nodes(surplus)
            self._cluster.remove_nodes(tuple(sorted(surplus)))
        missing = tuple(request for request in requests(self._plan, wave) if request.name not in matched)
        if missing:
            with self._lifeline.raising():
                self._cluster.add_nodes(missing, self._progress)

    def _record(self, wave: Wave, rig: ClusterChannels, namespace: str) -> None:
        info = self._cluster.info
        rig.add_nodes(info)
        self._write_cluster()
        placed = place(wave.nodes, info.nodes)
        nodes = {scenario: placed[planned] for scenario, planned in wave.placements.items()}
        about = {node.name: self._about(node, rig) for node in placed.values()}
        scenarios = [self._plan.scenario(name) for name in wave.placements]
        watched = {
            each.name: ScenarioRecording(each, nodes[each.name], info, self._plan.profile(each.profile))
            for each in scenarios
            if isinstance(each, PodScenario)
        }
        pods = Pods(self._api, namespace, image=info.image, run=self._label, session=self._session)
        director = Director(
            api=self._api,
            namespace=namespace,
            pods=pods,
            hands=Interventions(self._api, namespace, self._cluster, pods.recreate),
            begin=lambda each: each.begin(
                self._run.history(each.name), about[each.node.name], *rig.readings(each.node.name)
            ),
            last_words=lambda each: self._last_words(each.node, rig, about[each.node.name]),
            lifeline=self._lifeline,
        )
        trials = StartupTrials(self._run, self._plan, self._cluster, self._session, self._lifeline)
        self._session.watch(watched.values())
        trials.start(
            (each, nodes[each.name], about[nodes[each.name].name])
            for each in scenarios
            if isinstance(each, StartupScenario)
        )
        offsets = launch_offsets((each.scenario for each in watched.values()), self._plan.budgets)
        try:
            director.run({each: offsets[name] for name, each in watched.items()})
        finally:
            trials.wait()

    def _about(self, node: Node, rig: ClusterChannels) -> Event:
        can_tell = Capability.CONFIGZ in self._cluster.info.capabilities
        configz = read_configz(self._api, node.name) if can_tell else None
        return self._node_event(node, configz, rig.process(node.name), self._sign(node))

    def _node_event(
        self, node: Node, configz: Json | None, process: KubeletProcess | None, sign: NodeSign | None
    ) -> Event:
        profile = self._plan.profile(node.profile)
        return node_event(node.name, profile, configz, process, declared=node.declared, sign=sign)

    def _sign(self, node: Node) -> NodeSign | None:
        """What the Node object tells of a kubelet's restart, where nothing else does."""
        has_log = Capability.KUBELET_LOG in self._cluster.info.capabilities
        return None if has_log else read_sign(self._api, node.name)

    def _last_words(self, node: Node, rig: ClusterChannels, about: Event) -> list[Event]:
        """What is to be known of a node at the end of a scenario, beside what the channels have told."""
        words = [*rig.readings(node.name), *rig.interruptions(node.name)]
        sign = news(about.data, self._sign(node))
        if sign is not None:
            words.append(self._node_event(node, about.data["configz"], None, sign))
        return words

    def _write_cluster(self) -> None:
        """cluster.json and environment.json, with all nodes that there ever were."""
        info = self._cluster.info
        self._nodes_ever |= {node.name: node for node in info.nodes}
        self._facts_ever |= {node.name: self._api.node(node.name) for node in info.nodes}
        self._run.write(self._run.cluster_json, msgspec.structs.replace(info, nodes=tuple(self._nodes_ever.values())))
        facts = [self._facts_ever[name] for name in self._nodes_ever if name in self._facts_ever]
        self._run.write(self._run.environment_json, read_environment(facts, node_image=info.node_image))

    def _kubelet_restarted(self, name: str, process: KubeletProcess) -> None:
        """Tell the scenarios on the node once the new kubelet answers; in a thread, since that takes seconds."""
        threading.Thread(target=self._tell_restart, args=(name, process), name=f"restart-{name}", daemon=True).start()

    def _tell_restart(self, name: str, process: KubeletProcess) -> None:
        node = self._nodes_ever[name]
        configz: Json | None = None
        if Capability.CONFIGZ in self._cluster.info.capabilities:
            try:
                configz = wait_until(
                    f"the kubelet of {name} to tell its configuration",
                    lambda: read_configz(self._api, name),
                    timeout_s=KUBELET_ANSWERS_S,
                    every_s=0.5,
                )
            except WaitTimeout as error:
                log.warning("%s", error)
        self._session.node(name, self._node_event(node, configz, process, None))
