"""Where the scenarios of a run are recorded, as every kind of scenario needs it, and the facts about the kubelet of every node.

To it belong the control starts: a kubelet with a valid configuration in the node in which others are to be refused. Without
one a refusal may be anything's fault: a port that is taken, a runtime that does not come up, a full disk.

Facts are the effective configuration, whether that matches the node's profile, and restarts. They are read after the start of
the node, and again after every restart, which shows in the kubelet's log, or, without that, through the API
(crashloop.kube.kubelet).
"""

import logging
import threading
from collections.abc import Callable, Collection, Iterator
from functools import partial
from threading import Lock
from typing import Any

import msgspec

from crashloop.cluster.provider import Capability, Cluster, Node, Outages
from crashloop.errors import ClusterError, UsageError
from crashloop.history.event import Channel, Event, Kind
from crashloop.kube.answers import KubeError
from crashloop.kube.client import KubeApi
from crashloop.kube.kubelet import NodeSign, effective_config, news, read_sign
from crashloop.record.channels.channel import now_ns, received_event
from crashloop.record.channels.cluster_channels import ClusterChannels
from crashloop.record.channels.kubelet_log import KubeletProcess
from crashloop.record.channels.readout import sample_event, state_sample_event
from crashloop.record.event_router import EventRouter
from crashloop.record.history_file import HistoryFile, begin_event, start_history
from crashloop.rundir import RunDir
from crashloop.spec.plan import Plan
from crashloop.spec.profile import KubeletProfile, matches_profile
from crashloop.spec.scenario import PodScenario, Scenario
from crashloop.spec.state_metrics import of_state_metrics
from crashloop.waiting import WaitTimeout, wait_until
from crashloop.yaml_text import Json

KUBELET_ANSWERS_S = 30.0

log = logging.getLogger(__name__)


def node_event(
    node: str,
    profile: KubeletProfile,
    configz: dict[str, Any] | None,
    process: KubeletProcess | None,
    *,
    declared: bool = False,
    sign: NodeSign | None = None,
) -> Event:
    """What is known of a node's kubelet."""
    read_ns = now_ns()
    data: dict[str, Any] = {
        "kubelet_pid": process.pid if process else None,
        "kubelet_started_ns": process.started_ns if process else None,
        "configz": configz,
        "gates": None if configz is None else configz.get("featureGates") or {},
        "matches_profile": None if configz is None else matches_profile(configz, profile),
    }
    if declared:
        data["declared"] = True
    if sign is not None:
        data |= msgspec.to_builtins(sign)
    return received_event(Channel.KUBELET, Kind.NODE, read_ns, data, node=node)


def awaited_configz(api: KubeApi, node: str, *, is_over: Callable[[], bool] = lambda: False) -> dict[str, Any] | None:
    """The effective configuration of a kubelet that was just restarted.

    None, with a warning, if it does not answer in time, or before `is_over` holds.
    """

    def answer() -> dict[str, Any] | None:
        if is_over():
            raise WaitTimeout(f"the recording ended before the kubelet of {node} answered with its configuration.")
        return effective_config(api, api.node(node))

    try:
        return wait_until(
            f"the kubelet of {node} to answer with its configuration",
            answer,
            timeout_s=KUBELET_ANSWERS_S,
            every_s=0.5,
            not_yet=KubeError,
        )
    except WaitTimeout as error:
        log.warning("%s", error)
        return None


def read_configz(api: KubeApi, node: str) -> dict[str, Any] | None:
    """The effective configuration; None if the kubelet does not show it, with its reason in the log."""
    try:
        return effective_config(api, api.node(node))
    except KubeError as error:
        log.warning("node %s: its configuration cannot be read: %s", node, error)
        return None


class NodeFacts:
    """The newest facts about each node, which are those that a history begins with. Safe to call from any thread."""

    def __init__(
        self,
        api: KubeApi,
        plan: Plan,
        cluster: Cluster,
        router: EventRouter,
        process: Callable[[str], KubeletProcess | None],
    ) -> None:
        """`process` is the kubelet of a node by its log."""
        self._api = api
        self._plan = plan
        self._router = router
        self._process = process
        self._has_configz = Capability.CONFIGZ in cluster.info.capabilities
        self._has_log = Capability.KUBELET_LOG in cluster.info.capabilities
        self._nodes: dict[str, Node] = {}
        self._newest: dict[str, Event] = {}
        self._settled: dict[str, threading.Event] = {}
        """Not set while a restarted kubelet has not answered yet."""
        self._spoilt: dict[str, str] = {}
        self._written: dict[str, KubeletProfile] = {}
        """Profiles that kubelets will start with next, where another than their node's."""
        self._reconfigured: dict[str, KubeletProfile] = {}
        """Profiles of kubelets that were restarted with another than their node's."""

    @property
    def reconfigured(self) -> frozenset[str]:
        """Nodes whose kubelet was last restarted with another profile than the node's, or will be."""
        return frozenset(self._reconfigured | self._written)

    def reconfigure(self, node: str, profile: str | None) -> KubeletProfile:
        """The profile that a kubelet is restarted with now: by its name in the plan, or None for the node's own."""
        wanted = self.write(node, profile)
        self.restarts(node)
        return wanted

    def write(self, node: str, profile: str | None) -> KubeletProfile:
        """The profile that is written for the next start of a kubelet, named as above."""
        own = self._nodes[node].profile
        wanted = self._plan.profile(profile or own)
        self._written[node] = wanted
        if wanted.name == own:
            del self._written[node]
        return wanted

    def restarts(self, node: str) -> None:
        """A kubelet is restarted now, with what was written last."""
        self._reconfigured.pop(node, None)
        if node in self._written:
            self._reconfigured[node] = self._written[node]

    def read(self, node: Node) -> None:
        """A node came up."""
        self._nodes[node.name] = node
        self._settled.setdefault(node.name, threading.Event()).set()
        configz = read_configz(self._api, node.name) if self._has_configz else None
        self._newest[node.name] = self._event(node, configz, self._process(node.name), self._sign(node.name))

    def event(self, node: str) -> Event:
        """The current facts about a node; waits for the answer of a restarting kubelet."""
        self._settled[node].wait(KUBELET_ANSWERS_S + 1.0)
        changed = self.news(node, self._newest[node])
        return changed[-1] if changed else self._newest[node]

    def news(self, node: str, since: Event) -> list[Event]:
        """A restart since an event about the node, by the Node object, if there is no kubelet's log."""
        sign = news(since.data, self._sign(node))
        if sign is None:
            return []
        self._newest[node] = self._event(self._nodes[node], since.data["configz"], None, sign)
        return [self._newest[node]]

    def spoil(self, node: str, why: str) -> None:
        """What was done to the node has failed: nothing that would be recorded there from now on could be judged."""
        self._spoilt[node] = why

    def require_sound(self, node: str) -> None:
        """Raise ClusterError if the node is spoilt."""
        if node in self._spoilt:
            raise ClusterError(f"node {node}: what an earlier scenario did to it has failed: {self._spoilt[node]}")

    def restarted(self, node: str, process: KubeletProcess) -> None:
        """By its log the kubelet was restarted: its answer goes to the scenarios on the node, later, since it takes seconds."""
        if node not in self._nodes:
            return  # it comes up, and is read then
        self._settled[node].clear()
        threading.Thread(target=self._answer, args=(node, process), name=f"restart-{node}", daemon=True).start()

    def _answer(self, node: str, process: KubeletProcess) -> None:
        configz = awaited_configz(self._api, node) if self._has_configz else None
        if self._process(node) not in (None, process):
            return  # another process has answered: this one has gone
        self._newest[node] = self._event(self._nodes[node], configz, process, None)
        self._router.node(node, self._newest[node])
        self._settled[node].set()

    def _event(self, node: Node, configz: Json | None, process: KubeletProcess | None, sign: NodeSign | None) -> Event:
        later = self._reconfigured.get(node.name)
        profile = later or self._plan.profile(node.profile)
        event = node_event(node.name, profile, configz, process, declared=node.declared, sign=sign)
        if later is None:
            return event
        return msgspec.structs.replace(event, data=event.data | {"profile": later.name})

    def _sign(self, node: str) -> NodeSign | None:
        """Signs of a kubelet's restart in the Node object; None if the kubelet's log has them."""
        return None if self._has_log else read_sign(self._api, node)


class ControlStarts:
    """Those of a run, by node and profile: one is enough for all refusals beside it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._done: dict[tuple[str, str], tuple[Event, ...]] = {}

    def of(self, node: str, profile: str, start: Callable[[], tuple[Event, ...]]) -> tuple[Event, ...]:
        """The events of the control start in that node, marked as such; the first call starts it."""
        with self._lock:
            if (node, profile) not in self._done:
                self._done[node, profile] = tuple(_marked_as_control(each, profile) for each in start())
            return self._done[node, profile]


def _marked_as_control(event: Event, profile: str) -> Event:
    return msgspec.structs.replace(event, data={**event.data, "control": profile})


READY_WITHIN_S = 60.0
"""A node whose kubelet or runtime was restarted by the scenario before is Ready again within this time."""


def outages_of(cluster: Cluster) -> Outages:
    """What of a cluster can be made unavailable. Raises UsageError if nothing can."""
    if cluster.outages is None:
        raise UsageError(f"cluster {cluster.info.name}: nothing of its control plane can be stopped.")
    return cluster.outages


class RecordingSite(msgspec.Struct, frozen=True, kw_only=True):
    """A run on a cluster that is up, in a namespace."""

    run: RunDir
    plan: Plan
    cluster: Cluster
    api: KubeApi
    namespace: str
    label: str
    """Value of the run's label."""
    router: EventRouter
    channels: ClusterChannels
    facts: NodeFacts
    apart: str | None = None
    """The scenario that has this cluster for itself; None: it is the run's."""
    controls: ControlStarts = msgspec.field(default_factory=ControlStarts)

    def begin(self, scenario: Scenario, node: Node | None, *about_node: Event) -> HistoryFile:
        """Start the history of a scenario."""
        begin = begin_event(
            scenario,
            node=None if node is None else node.name,
            kubernetes_version=self.cluster.info.kubernetes_version,
            profile=None if scenario.node_profile is None else self.plan.profile(scenario.node_profile),
            feature_gates=self.plan.gates_for(scenario),
        )
        return start_history(self.run.history(scenario.name), begin, *about_node)

    def about(self, node: Node) -> tuple[Event, ...]:
        """The current facts about a node: its kubelet, and its clocks unless they are this host's."""
        return (self.facts.event(node.name), *self.channels.readings(node.name))

    def last_words(self, node: Node, *, since: Event) -> list[Event]:
        """What is to be known of a node at the end of a scenario, beside what the channels have reported since it began."""
        news = self.facts.news(node.name, since)
        return [*self.channels.readings(node.name), *self.channels.interruptions(node.name), *news]

    def samples(self, scenario: PodScenario, node: Node, uids: Collection[str]) -> Iterator[Event]:
        """The metrics that a scenario with these pods names, where they can be read."""
        capabilities, of_state = self.cluster.info.capabilities, of_state_metrics(scenario.samples)
        of_kubelet = tuple(each for each in scenario.samples if each not in of_state)
        if of_state and uids and Capability.STATE_METRICS in capabilities:
            yield state_sample_event(self.cluster, of_state, uids)
        if of_kubelet and Capability.KUBELET_METRICS in capabilities:
            yield sample_event(self.api, node.name, of_kubelet)

    def wait_until_ready(self, node: Node) -> None:
        """Return once the node is Ready. Raises WaitTimeout, and ClusterError for a node that was left broken."""
        self.facts.require_sound(node.name)
        ready = partial(self.api.is_ready, node.name)
        wait_until(f"node {node.name} to be Ready", ready, timeout_s=READY_WITHIN_S, every_s=0.5, not_yet=KubeError)
