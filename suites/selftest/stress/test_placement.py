"""The loads of a profile can be moved among its nodes that are alike."""

import msgspec
import pytest

from crashloop.errors import UsageError
from crashloop.stress.profile import Disturbance, Stage, StressNode, StressProfile, placed
from crashloop.stress.profiles import load_stress_profile
from suites.selftest.kit.stress_kit import CRASHERS

PROFILE = StressProfile(
    name="example",
    nodes=tuple(
        StressNode(name=name, profile=profile)
        for name, profile in (("a", "stock"), ("fast", "max-1s"), ("b", "stock"), ("c", "stock"))
    ),
    loads={name: msgspec.structs.replace(CRASHERS, node=name.removesuffix("-2")) for name in ("a", "a-2", "c", "fast")},
    stages=(Stage(name="storm", duration_s=10, users={"a": 1}),),
    disturbances=(Disturbance(after_s=1, action="kill-kubelet", node="b"),),
)


def nodes_of(profile: StressProfile) -> dict[str, str]:
    return {name: load.node for name, load in profile.loads.items()}


@pytest.mark.parametrize(
    ("number", "a", "c", "disturbed"), [(1, "b", "a", "c"), (2, "c", "b", "a"), (4, "b", "a", "c")]
)
def test_loads_move_on_among_the_nodes_of_their_kubelet_profile(number: int, a: str, c: str, disturbed: str) -> None:
    moved = placed(PROFILE, number)
    assert nodes_of(moved) == {"a": a, "a-2": a, "c": c, "fast": "fast"}
    assert [each.node for each in moved.disturbances] == [disturbed]
    assert (moved.nodes, moved.stages) == (PROFILE.nodes, PROFILE.stages)


def test_without_a_number_nothing_moves() -> None:
    assert placed(PROFILE, 0) is PROFILE


def test_a_number_that_moves_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="has 3 nodes with the same kubelet profile, so each"):
        placed(PROFILE, 3)


def test_the_arms_of_a_comparison_stay_where_they_are() -> None:
    arms = (
        StressNode(name="a", profile="stock", arm="baseline"),
        StressNode(name="c", profile="stock", arm="treatment"),
    )
    with pytest.raises(UsageError, match='--placement 1: stress profile "example" has no two nodes with the same'):
        placed(msgspec.structs.replace(PROFILE, nodes=arms), 1)


def test_a_profile_with_one_placement_is_refused() -> None:
    with pytest.raises(
        UsageError, match='--placement 2: stress profile "quick" has no two nodes with the same kubelet'
    ):
        load_stress_profile("quick", placement=2)


def test_each_server_of_demand_but_one_has_another_node_in_the_other_placement() -> None:
    usual, other = (nodes_of(load_stress_profile("demand", placement=number)) for number in (0, 1))
    exchanged = {"web": "web-2", "web-2": "web", "fast": "fast"}
    assert other == {name: exchanged[node] for name, node in usual.items()}
    assert {usual["large"], usual["small"], usual["neighbour"]} == {"web"}
    assert set(usual.values()) == set(exchanged)
