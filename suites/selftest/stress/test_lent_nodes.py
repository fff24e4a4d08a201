"""Which nodes of an existing cluster a stress profile gets.

The loads of a profile can be moved among its nodes that are alike.
"""

from typing import Any

import msgspec
import pytest

from crashloop.cluster.provider import Survey, SurveyedNode
from crashloop.errors import UsageError
from crashloop.profiles import load_profile
from crashloop.run.existing import offer_of
from crashloop.stress.lent_nodes import Lent, lend
from crashloop.stress.loads import Churn, Crash
from crashloop.stress.profile import Disturbance, Stage, StressNode, StressProfile, placed, pods_on, resolved
from crashloop.stress.profiles import load_stress_profile
from suites.selftest.kit.stress_kit import CRASHERS

STORM = StressProfile(
    name="mine",
    nodes=(StressNode(name="storm", profile="max-1s"),),
    loads={
        "healthy": Churn(node="storm", rate_per_s=1, in_flight=5),
        "crashers": Crash(node="storm", run_s=1),
    },
    stages=(Stage(name="storm", duration_s=60, users={"healthy": 1, "crashers": "full"}),),
)
ARMS = msgspec.structs.replace(
    STORM,
    nodes=(
        StressNode(name="storm", profile="stock", arm="baseline"),
        StressNode(name="other", profile="max-1s", arm="treatment"),
    ),
)


def node(name: str, declared: str | None = "stock", **more: Any) -> SurveyedNode:
    return SurveyedNode(name=name, **({"kubelet_version": "1.37.1", "declared": declared, "cores": 4} | more))


def lent(profile: StressProfile, *nodes: SurveyedNode, max_pods: int = 40) -> Lent:
    survey = Survey(kubernetes_version="1.37.1", nodes=nodes, max_pods=max_pods, capabilities=frozenset())
    return lend(profile, survey, offer_of(survey), load_profile)


def test_a_node_with_the_kubelet_profile_comes_first() -> None:
    found = lent(STORM, node("worker-1"), node("worker-2", "max-1s"))
    assert [(each.name, each.profile) for each in found.profile.nodes] == [("worker-2", "max-1s")]
    assert {load.node for load in found.profile.loads.values()} == {"worker-2"}


def test_without_one_the_run_follows_the_curve_of_the_node_that_there_is() -> None:
    found = lent(STORM, node("worker-1"))
    assert [(each.name, each.profile) for each in found.profile.nodes] == [("worker-1", "stock")]
    assert found.kubelets["stock"].config == load_profile("stock").config


def test_a_kubelet_of_another_release_has_it_in_its_name() -> None:
    found = lent(STORM, node("worker-1", kubelet_version="1.36.4"))
    assert found.kubelets["stock@1.36.4"].kubernetes_version == "1.36.4"


def test_a_configuration_that_was_read_is_the_profile_of_its_node() -> None:
    configz = {"crashLoopBackOff": {"maxContainerRestartPeriod": "7s"}, "featureGates": {}}
    found = lent(STORM, node("worker-1", None, configz=configz))
    assert found.kubelets["of-worker-1"].config["crashLoopBackOff"] == {"maxContainerRestartPeriod": "7s"}


def test_arms_stand_on_nodes_with_their_profiles() -> None:
    found = lent(ARMS, node("worker-1", "max-1s"), node("worker-2"))
    assert [(each.arm, each.name) for each in found.profile.nodes] == [
        ("baseline", "worker-2"),
        ("treatment", "worker-1"),
    ]


def test_two_arms_with_one_kubelet_profile_need_two_nodes() -> None:
    alike = tuple(msgspec.structs.replace(each, profile="stock") for each in ARMS.nodes)
    with pytest.raises(UsageError) as refused:
        lent(msgspec.structs.replace(ARMS, nodes=alike), node("worker-1"), node("worker-2", "max-1s"))
    assert str(refused.value) == (
        f'stress profile "{ARMS.name}", arm treatment: it needs a node of its own; the kubelet profile "stock" is only on '
        "worker-1, in use."
    )


@pytest.mark.parametrize(
    ("profile", "nodes", "max_pods", "refusal"),
    [
        (
            ARMS,
            [node("worker-1"), node("worker-2")],
            40,
            "arm treatment: no node of the cluster has the kubelet profile",
        ),
        (
            msgspec.structs.replace(STORM, nodes=(*STORM.nodes, StressNode(name="second", profile="stock"))),
            [node("worker-1")],
            40,
            "it needs 2 nodes with a known kubelet profile; the cluster has 1",
        ),
        (STORM, [node("worker-1", None)], 40, "the cluster has 0"),
        (STORM, [node("worker-1")], 6, "6 pods on node storm; 6 pods in the cluster leave 5 for each node"),
        (
            msgspec.structs.replace(STORM, disturbances=(Disturbance(after_s=1, action="kill-kubelet", node="storm"),)),
            [node("worker-1")],
            40,
            "an existing cluster is never changed",
        ),
        (
            msgspec.structs.replace(STORM, loads={"large": Crash(node="storm", image_mib=20)}),
            [node("worker-1")],
            40,
            "it puts large images onto nodes .image_mib.; an existing cluster is never changed",
        ),
    ],
    ids=["arm", "too-few", "unknown", "no-room", "disturbed", "large-image"],
)
def test_what_the_cluster_cannot_give_is_refused(
    profile: StressProfile, nodes: list[SurveyedNode], max_pods: int, refusal: str
) -> None:
    with pytest.raises(UsageError, match=refusal):
        lent(profile, *nodes, max_pods=max_pods)


@pytest.mark.parametrize(("max_pods", "pods"), [(21, 20), (200, 40)], ids=["cap", "official-limit"])
def test_a_full_node_has_no_more_pods_than_the_cap_and_the_official_limit(max_pods: int, pods: int) -> None:
    found = lent(STORM, node("worker-1"), max_pods=max_pods)
    plan = resolved(found.profile, cores=found.cores, at_most=found.pods_each)
    assert pods_on(plan, plan.stages[0], "worker-1") == pods


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
