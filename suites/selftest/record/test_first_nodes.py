"""Which nodes a cluster begins with, where nodes can change and where they cannot."""

from crashloop.cluster.provider import Capability
from crashloop.profiles import load_profile
from crashloop.record.stage import first_requests
from crashloop.spec.plan import Budgets, Plan, PlannedNode

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
