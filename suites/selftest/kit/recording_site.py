"""A site to record on without a cluster: a run directory, a plan, and a cluster that is nothing but its description."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from crashloop.cluster.provider import Capability, Cluster, ClusterInfo, Node, Outages, Registry
from crashloop.kube.client import KubeApi
from crashloop.record.channels.cluster_channels import ClusterChannels
from crashloop.record.event_router import EventRouter
from crashloop.record.scenario_loop import ActiveScenario, ScenarioStage
from crashloop.record.site import NodeFacts, RecordingSite
from crashloop.rundir import RunDir, RunInfo
from crashloop.spec.plan import Plan
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import Scenario
from suites.selftest.kit.object_peer import ObjectPeer, serving

NODE = Node(name="node", profile="stock")
READY = {"metadata": {"name": "node"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
"""NODE as the API server has it."""
CAPABILITIES = frozenset({Capability.NODES_CHANGE, Capability.NODES_ON_HOST, Capability.KUBELET_LOG})


def cluster_info(*nodes: Node, **known: Any) -> ClusterInfo:
    """A cluster on paper: what a test says of it, and anything for the rest."""
    anything = {
        "name": "c",
        "provider": "local",
        "kubernetes_version": "1.37.1",
        "kubeconfig": "k",
        "capabilities": frozenset(),
        "image": "localhost/program:1",
    }
    return ClusterInfo(nodes=nodes, **(anything | known))


class Described:
    """A cluster of which only its description is asked for."""

    outages: Outages | None = None
    registry: Registry | None = None

    def __init__(self, *nodes: Node) -> None:
        self.info = cluster_info(*nodes, capabilities=CAPABILITIES)


def plan_of(*scenarios: Scenario, **more: Any) -> Plan:
    """A plan with the profiles that the scenarios name."""
    names = sorted({name for each in scenarios for name in each.profiles})
    return Plan(
        suite="test",
        provider="p",
        kubernetes_version="1.37.1",
        scope="quick",
        profiles=tuple(KubeletProfile(name=name) for name in names),
        scenarios=scenarios,
        judgements=(),
        **more,
    )


def site(api: KubeApi, folder: Path, plan: Plan, cluster: object) -> RecordingSite:
    """The site of a new run in that folder. `cluster` is as much of a Cluster as the test needs."""
    started = RunInfo(suite="test", started=datetime.now(UTC), crashloop_version="0")
    router = EventRouter()
    channels = ClusterChannels(api, "ns", "run", router, lambda *_: None, shows_events=False, measures_api=False)
    return RecordingSite(
        run=RunDir.create(folder / "run", started),
        plan=plan,
        cluster=cast("Cluster", cluster),
        api=api,
        namespace="ns",
        label="run",
        router=router,
        channels=channels,
        facts=NodeFacts(api, plan, cast("Cluster", cluster), router, channels.process),
    )


@contextmanager
def site_with_node(peer: ObjectPeer, folder: Path, scenario: Scenario) -> Iterator[RecordingSite]:
    """The site of a new run whose NODE came up; `peer` is its API server."""
    with serving(peer, folder) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        made = site(api, folder, plan_of(scenario), Described(NODE))
        made.facts.read(NODE)
        yield made


def do_next(active: ActiveScenario) -> None:
    """What is to be done now, in this thread."""
    task = active.step()
    assert task is not None
    task()


def finish(active: ActiveScenario) -> None:
    """All that is to be done until the history is sealed."""
    while active.stage is not ScenarioStage.SEALED:
        do_next(active)
