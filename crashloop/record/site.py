"""Where the scenarios of a run are recorded, as every kind of scenario needs it.

To it belong the control starts: a kubelet with a valid configuration in the node in which others are to be refused. Without
one a refusal may be anything's fault: a port that is taken, a runtime that does not come up, a full disk.
"""

from collections.abc import Callable, Collection, Iterator
from functools import partial
from threading import Lock

import msgspec

from crashloop.cluster.provider import Capability, Cluster, Node, Outages
from crashloop.errors import UsageError
from crashloop.history.event import Event
from crashloop.kube.answers import KubeError
from crashloop.kube.client import KubeApi
from crashloop.record.channels.cluster_channels import ClusterChannels
from crashloop.record.channels.readout import sample_event, state_sample_event
from crashloop.record.event_router import EventRouter
from crashloop.record.history_file import HistoryFile, begin_event, start_history
from crashloop.record.node_facts import NodeFacts
from crashloop.rundir import RunDir
from crashloop.spec.plan import Plan
from crashloop.spec.scenario import PodScenario, Scenario
from crashloop.spec.state_metrics import of_state_metrics
from crashloop.waiting import wait_until


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
