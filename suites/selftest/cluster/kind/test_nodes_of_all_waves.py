"""Which nodes a cluster begins with, where nodes can change and where they cannot."""

from crashloop.cluster.provider import Capability
from crashloop.profiles import load_profile
from crashloop.record.waves import first_requests
from crashloop.spec.plan import Plan, PlannedNode, Wave


def wave(**nodes: str) -> Wave:
    return Wave(
        nodes=tuple(PlannedNode(name=name.replace("_", "-"), profile=profile) for name, profile in nodes.items()),
        placements={},
    )


PLAN = Plan(
    suite="conformance",
    provider="kind",
    kubernetes_version="1.37.1",
    scope="full",
    profiles=tuple(load_profile(name) for name in ("stock", "max-2s", "max-1s")),
    scenarios=(),
    judgements=(),
    waves=(
        wave(stock="stock", stock_restarted="stock"),
        wave(max_2s="max-2s", stock_killed="stock"),
        wave(max_1s="max-1s", stock_a="stock", stock_b="stock", stock_c="stock"),
    ),
)


def names(*capabilities: Capability) -> list[str]:
    return [each.name for each in first_requests(PLAN, frozenset(capabilities))]


def test_nodes_that_can_change_begin_with_those_of_the_first_wave() -> None:
    assert names(Capability.NODES_CHANGE) == ["stock", "stock-restarted"]


def test_nodes_that_cannot_change_are_those_of_all_waves_each_used_again_where_its_profile_fits() -> None:
    assert names() == ["stock", "stock-restarted", "max-2s", "max-1s", "stock-c"]
    assert {each.name: each.profile.name for each in first_requests(PLAN, frozenset())}["stock-c"] == "stock"
