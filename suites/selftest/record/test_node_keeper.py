"""Nodes come and go as the schedule says; one that does not come up costs its own scenarios only.

Which nodes a cluster begins with, where nodes can change and where they cannot.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from crashloop.cluster.provider import Capability, ClusterInfo, Node, NodeRequest, Progress
from crashloop.errors import ClusterError, UsageError
from crashloop.kube.client import KubeApi
from crashloop.profiles import load_profile
from crashloop.progress import SilentProgress
from crashloop.record.node_keeper import NodeKeeper, Stranded
from crashloop.record.schedule import Schedule
from crashloop.record.stage import first_requests
from crashloop.rundir import RunDir
from crashloop.spec.assignment import assign
from crashloop.spec.plan import Budgets, Plan, PlannedNode
from crashloop.spec.pod import Container, Pod
from crashloop.spec.scenario import PodScenario, Until
from crashloop.waiting import wait_until
from suites.selftest.kit.object_peer import ObjectPeer, serving
from suites.selftest.kit.recording_site import CAPABILITIES, cluster_info, plan_of, site

PROFILES = ("a", "b", "c", "d")


class Recorded:
    """A cluster that notes what is done to its nodes; those of `broken` do not come up."""

    def __init__(self, *nodes: str, broken: dict[str, ClusterError] | None = None) -> None:
        self.info = cluster_info(
            *(Node(name=name, profile=name.partition("-")[0]) for name in nodes), capabilities=CAPABILITIES
        )
        self.done: list[str] = []
        self._broken = broken or {}

    def add_nodes(self, nodes: tuple[NodeRequest, ...], _: Progress) -> None:
        names = [each.name for each in nodes]
        self.done.append(f"add {' '.join(names)}")
        for name in names:
            if name in self._broken:
                raise self._broken[name]
        added = tuple(Node(name=each.name, profile=each.profile.name) for each in nodes)
        self.info = msgspec.structs.replace(self.info, nodes=(*self.info.nodes, *added))

    def remove_nodes(self, names: tuple[str, ...]) -> None:
        self.done.append(f"remove {' '.join(names)}")
        kept = tuple(node for node in self.info.nodes if node.name not in names)
        self.info = msgspec.structs.replace(self.info, nodes=kept)

    def collect_logs(self, _: Path) -> None:
        self.done.append("collect logs")


class Rig:
    """A keeper with its schedule and its cluster."""

    def __init__(self, cluster: Recorded, keeper: NodeKeeper, schedule: Schedule, run: RunDir) -> None:
        self.cluster, self.keeper, self.schedule, self.run = cluster, keeper, schedule, run
        self._now_s = 0.0

    def _later_s(self) -> float:
        """A time at which no budget holds anything up."""
        self._now_s += 1000.0
        return self._now_s

    def until(self, what: str, holds: Callable[[tuple[Stranded, ...]], bool]) -> None:
        """Tend the nodes until something holds, given what was stranded so far."""
        stranded: list[Stranded] = []

        def tended() -> bool:
            stranded.extend(self.keeper.tend())
            return holds(tuple(stranded))

        wait_until(what, tended, timeout_s=60, every_s=0.01)

    def launch(self, *expected: str) -> None:
        """Tend the nodes until these scenarios are launched."""
        launched: list[str] = []

        def all_launched(_: tuple[Stranded, ...]) -> bool:
            launched.extend(each.name for each in self.schedule.to_launch(self._later_s()))
            return sorted(launched) == sorted(expected)

        self.until(f"{expected} to be launched", all_launched)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Callable[..., Rig]]:
    """Makes a rig for a plan with one scenario per profile, the first the longest."""
    versions = {"kubeletVersion": "v1", "containerRuntimeVersion": "r", "kernelVersion": "k", "osImage": "o"}
    names = (*PROFILES, "a-kept")
    peer = ObjectPeer(
        *((f"/api/v1/nodes/{n}", {"metadata": {"name": n}, "status": {"nodeInfo": versions}}) for n in names)
    )
    keepers: list[NodeKeeper] = []
    with serving(peer, tmp_path) as kubeconfig, closing(KubeApi(kubeconfig)) as api:

        def made(
            *nodes: str, live_nodes: int, broken: dict[str, ClusterError] | None = None, lent: bool = False
        ) -> Rig:
            pod = Pod(containers=(Container(),))
            scenarios = tuple(
                PodScenario(name=f"on-{profile}", profile=profile, pod=pod, until=Until(at_most_s=90.0 - n))
                for n, profile in enumerate(PROFILES)
            )
            budgets = Budgets(live_nodes=live_nodes)
            plan = plan_of(*scenarios, budgets=budgets, **assign(scenarios, budgets)._asdict())
            cluster = Recorded(*nodes, broken=broken)
            where, schedule = site(api, tmp_path, plan, cluster), Schedule(plan, at_once={}, node_pods=0)
            kept = frozenset(nodes) if lent else frozenset()
            keepers.append(NodeKeeper(where, schedule, SilentProgress(), lent=kept))
            return Rig(cluster, keepers[-1], schedule, where.run)

        yield made
        for keeper in keepers:
            keeper.close()


def test_a_node_that_has_served_its_last_scenario_makes_room_for_the_next(rig: Callable[..., Rig]) -> None:
    run = rig("a", "b", live_nodes=2)
    run.launch("on-a", "on-b")
    assert run.cluster.done == []
    run.schedule.ended("on-b", 0.0)
    run.launch("on-c")
    assert run.cluster.done == ["collect logs", "remove b", "add c"]
    written = msgspec.json.decode(run.run.cluster_json.read_bytes(), type=ClusterInfo)
    assert [node.name for node in written.nodes] == ["a", "b", "c"], "nodes that are gone are kept in mind"


def test_a_node_that_does_not_come_up_costs_only_its_own_scenarios(rig: Callable[..., Rig]) -> None:
    run = rig("a", live_nodes=4, broken={"c": ClusterError("node c: no kubelet answers")})
    lost = ("on-c", "node c: no kubelet answers")
    run.until("what is stranded", lambda seen: [(each.scenario.name, each.error) for each in seen] == [lost])
    assert run.cluster.done == ["add b c d", "add b", "add c", "add d"]
    run.launch("on-a", "on-b", "on-d")


def test_a_run_of_which_no_node_comes_up_fails(rig: Callable[..., Rig]) -> None:
    run = rig(live_nodes=1, broken={"a": ClusterError("node a: no kubelet answers")})
    with pytest.raises(ClusterError, match="node a: no kubelet answers"):
        run.until("the error", lambda _: False)


def test_what_the_user_has_to_mend_ends_the_run(rig: Callable[..., Rig]) -> None:
    class Wrong(ClusterError, UsageError):
        pass

    run = rig("a", live_nodes=2, broken={"b": Wrong("node b: mend it")})
    with pytest.raises(UsageError, match="mend it"):
        run.until("the error", lambda _: False)


def test_a_node_that_is_lent_serves_a_planned_one_of_its_profile_and_stays(rig: Callable[..., Rig]) -> None:
    run = rig("a-kept", live_nodes=1, lent=True)
    run.launch("on-a")
    run.schedule.ended("on-a", 0.0)
    run.launch("on-b")
    assert run.cluster.done == ["add b"]


NODES = {"stock": "stock", "stock-2": "stock", "max-2s": "max-2s", "max-1s": "max-1s"}


def names(*capabilities: Capability, **budgets: int) -> dict[str, str]:
    plan = Plan(
        suite="conformance",
        provider="kind",
        kubernetes_version="1.37.1",
        scope="full",
        budgets=Budgets(live_nodes=budgets.get("live_nodes", 12), live_pods=budgets.get("live_pods")),
        profiles=tuple(load_profile(name) for name in ("stock", "max-2s", "max-1s")),
        scenarios=(),
        judgements=(),
        nodes=tuple(PlannedNode(name=name, profile=profile) for name, profile in NODES.items()),
    )
    return {each.name: each.profile.name for each in first_requests(plan, frozenset(capabilities))}


def test_nodes_that_can_change_begin_with_as_many_as_the_budget_allows() -> None:
    assert list(names(Capability.NODES_CHANGE, live_nodes=3)) == ["stock", "stock-2", "max-2s"]


def test_each_node_elsewhere_takes_the_room_of_a_heartbeat_and_needs_that_of_a_pod() -> None:
    assert list(names(Capability.NODES_CHANGE, live_pods=5)) == ["stock", "stock-2", "max-2s"]
    assert list(names(Capability.NODES_CHANGE, Capability.NODES_ON_HOST, live_pods=5)) == list(NODES)


def test_nodes_that_cannot_change_are_all_there_from_the_beginning() -> None:
    assert names(live_nodes=2, live_pods=2) == NODES
