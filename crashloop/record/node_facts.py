"""Facts about the kubelet of every node: read after the start of the node, and again after every restart."""

import threading
from collections.abc import Callable

import msgspec

from crashloop.cluster.provider import Capability, Cluster, Node
from crashloop.errors import ClusterError
from crashloop.history.event import Event
from crashloop.kube.client import Json, KubeApi
from crashloop.record.channels.kubelet_log import KubeletProcess
from crashloop.record.channels.node_restarts import NodeSign, news, read_sign
from crashloop.record.event_router import EventRouter
from crashloop.record.nodes import KUBELET_ANSWERS_S, awaited_configz, node_event, read_configz
from crashloop.spec.plan import Plan
from crashloop.spec.profile import KubeletProfile


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
