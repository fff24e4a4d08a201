"""Over which nodes of an existing cluster a load is spread, with how many pods, and what is not spread."""

from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from crashloop.cluster.provider import Cluster, ClusterInfo, ExistingOptions, Node, Survey, SurveyedNode
from crashloop.errors import UsageError
from crashloop.kube.client import KubeApi
from crashloop.profiles import load_profile
from crashloop.run.existing import offer_of
from crashloop.stress.costing import predicted_per_s
from crashloop.stress.folder import StressDir
from crashloop.stress.lent_nodes import Group, Number, group_for, number_of, open_files_of, spread_out
from crashloop.stress.loads import Canary, Churn, Crash, Demand
from crashloop.stress.openmetrics import profiles_of
from crashloop.stress.plan import StressPlan, plan_of
from crashloop.stress.profile import Disturbance, Stage, StressNode, StressProfile
from crashloop.stress.recorder import order_of
from crashloop.stress.run import StressOptions, plan_stress
from crashloop.stress.testbed import Site
from suites.selftest.kit.existing_peer import ExistingPeer, serving
from suites.selftest.kit.existing_peer import node as node_object
from suites.selftest.kit.recording_site import cluster_info
from suites.selftest.kit.snapshots import YamlFile

STORM = StressProfile(
    name="mine",
    nodes=(StressNode(name="storm", profile="max-1s"),),
    loads={
        "healthy": Churn(node="storm", rate_per_s=1, in_flight=5),
        "crashers": Crash(node="storm", run_s=1),
        "reads": Canary(node="storm"),
    },
    stages=(Stage(name="storm", duration_s=60, users={"healthy": 1, "crashers": "full", "reads": 1}),),
)


def node(name: str, declared: str | None = "max-1s", **more: Any) -> SurveyedNode:
    known = {"kubelet_version": "1.37.1", "declared": declared, "cores": 4, "hostname": f"{name}.example"}
    return SurveyedNode(name=name, **(known | more))


def nodes(number: int, declared: str | None = "max-1s", **more: Any) -> tuple[SurveyedNode, ...]:
    return tuple(node(f"{declared}-{index}", declared, **more) for index in range(number))


def group(
    *there: SurveyedNode,
    profile: StressProfile = STORM,
    over: Number = 2,
    max_pods: int = 40,
    quota: int | None = None,
) -> Group:
    survey = Survey(kubernetes_version="1.37.1", nodes=there, max_pods=max_pods, quota=quota, capabilities=frozenset())
    return group_for(profile, survey, offer_of(survey), load_profile, over, max_pods=max_pods)


def planned(found: Group) -> StressPlan:
    of_one = plan_of(
        found.profile,
        provider="existing",
        kubernetes_version="1.37.1",
        cores=found.cores,
        kubelet=lambda _: found.kubelet,
        reconfigures=False,
        pods_each=found.pods_each,
    )
    return spread_out(of_one, found.hosts)


def with_users(**users: Any) -> StressProfile:
    return msgspec.structs.replace(STORM, stages=(msgspec.structs.replace(STORM.stages[0], users=users),))


def test_the_plan_of_a_load_on_three_nodes(snapshot: SnapshotAssertion) -> None:
    plan = planned(group(*nodes(4), over=3))
    assert yaml.safe_dump(msgspec.to_builtins(plan)) == snapshot.use_extension(YamlFile)


def test_users_are_those_of_a_node_times_the_nodes_and_reads_are_the_clusters() -> None:
    plan = planned(group(*nodes(10), over="all", max_pods=20))
    (stage,) = plan.stages
    assert stage.users == {"healthy": 10, "crashers": 130, "reads": 1}
    assert stage.spawn_per_s == 50


def test_no_more_users_start_in_a_second_than_in_any_stage() -> None:
    assert planned(group(*nodes(50), over=50)).stages[0].spawn_per_s == 100


def test_nodes_with_the_kubelet_profile_come_first_and_else_the_most_that_are_alike() -> None:
    there = (*nodes(3, "stock"), *nodes(2), *nodes(4, "max-10s"))
    assert list(group(*there).hosts) == ["max-1s-0", "max-1s-1"]
    most = group(*there, over=3)
    assert (most.kubelet.name, list(most.hosts)) == ("max-10s", ["max-10s-0", "max-10s-1", "max-10s-2"])
    assert most.profile.nodes == (StressNode(name="storm", profile="max-10s"),)
    assert most.hosts["max-10s-0"] == "max-10s-0.example"


def test_configurations_that_were_read_are_alike_by_what_bears_on_restarts() -> None:
    def read(name: str, maximum: str) -> SurveyedNode:
        own = {"crashLoopBackOff": {"maxContainerRestartPeriod": maximum}, "providerID": name}
        return node(name, None, configz=own)

    found = group(read("a", "7s"), read("b", "8s"), read("c", "7s"))
    assert (list(found.hosts), found.kubelet.name) == (["a", "c"], "of-a")


def test_kubelets_of_two_releases_are_not_alike() -> None:
    with pytest.raises(UsageError, match=r"needs 2 nodes .*: max-1s \(1 node\), max-1s@1\.36\.4 \(1 node\)\."):
        group(node("a"), node("b", kubelet_version="1.36.4"))


def test_the_smallest_node_says_how_many_pods_are_full() -> None:
    found = group(node("a", cores=16), node("b", cores=1))
    assert (found.cores, planned(found).stages[0].users["crashers"]) == (1, 2 * (10 - 5 - 1))


def test_a_quota_is_shared_by_the_nodes() -> None:
    assert group(*nodes(2), quota=25).pods_each == 11


@pytest.mark.parametrize("text", ["1", "501", "many", "-2", ""])
def test_a_number_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        number_of(text)
    assert str(refused.value) == f"--spread-over {text!r}: expected 2 to 500 nodes, or all."


def test_numbers() -> None:
    assert (number_of("50"), number_of("all")) == (50, "all")


NOT_SPREAD = (
    "; --spread-over spreads the load of one node over many.\nLeave --spread-over out, or choose another profile."
)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (
            {"nodes": (StressNode(name="storm", profile="stock", arm="baseline"),)},
            "it compares arms, each of them one node",
        ),
        (
            {"nodes": (*STORM.nodes, StressNode(name="second", profile="stock"))},
            "it has 2 nodes, each with a load of its own",
        ),
        (
            {"loads": STORM.loads | {"server": Demand(node="storm", rate_per_s=1)}},
            "its load server sends requests to servers of certain nodes",
        ),
    ],
    ids=["arms", "nodes", "demand"],
)
def test_a_profile_that_is_about_certain_nodes_is_refused(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError) as refused:
        group(*nodes(2), profile=msgspec.structs.replace(STORM, **changed))
    assert str(refused.value) == f'stress profile "mine": {reason}{NOT_SPREAD}'


@pytest.mark.parametrize(
    ("there", "how", "refusal"),
    [
        (
            (*nodes(3), *nodes(2, "stock"), node("unknown", None), node("cordoned", unusable="cordoned")),
            {"over": 4},
            'stress profile "mine": --spread-over 4 needs 4 nodes with one kubelet configuration that is known; '
            "those that can be used: max-1s (3 nodes), stock (2 nodes).",
        ),
        (
            nodes(1),
            {"over": "all"},
            'stress profile "mine": --spread-over all needs 2 nodes with one kubelet configuration that is known; '
            "those that can be used: max-1s (1 node).",
        ),
        (
            nodes(3, hostname=None),
            {},
            'stress profile "mine": --spread-over 2 needs 2 nodes with one kubelet configuration that is known; '
            "those that can be used: none.",
        ),
        (
            (*nodes(3), *nodes(1, "stock")),
            {"over": "all"},
            "--spread-over all: the nodes that can be used have several kubelet configurations: max-1s (3 nodes), stock "
            "(1 node).\nName those of one with --node-selector, or give their number.",
        ),
        (
            nodes(501),
            {"over": "all"},
            "--spread-over all: 501 nodes can be used; expected at most 500.\n"
            "Name fewer with --node-selector, or give their number.",
        ),
        (
            nodes(500),
            {"over": 500},
            "--spread-over 500: 40 pods on each node, heartbeats included (--max-pods), are 20,000; a run makes 5,000 at the "
            "most.\nLower --max-pods to 10, or spread the load over fewer nodes.",
        ),
        (
            nodes(2),
            {"profile": with_users(crashers=50)},
            'stress profile "mine", stage storm: 50 pods on node storm; --max-pods 40 leaves 39 for each node, heartbeats '
            "left out.\nRaise --max-pods, or the namespace's quota.",
        ),
        (
            nodes(2),
            {"profile": with_users(crashers=20), "quota": 30},
            'stress profile "mine", stage storm: 20 pods on node storm; a quota of 30 more pods leaves 14 for each node, '
            "heartbeats left out.\nRaise --max-pods, or the namespace's quota.",
        ),
        (
            nodes(2),
            {"quota": 3},
            "--spread-over 2: a quota of 3 more pods leaves 1 pod a node; expected 2 at least: a heartbeat and one of the "
            "load.\nRaise --max-pods, or the namespace's quota.",
        ),
        (
            nodes(2),
            {
                "profile": msgspec.structs.replace(
                    STORM, disturbances=(Disturbance(after_s=1, action="kill-kubelet", node="storm"),)
                )
            },
            'stress profile "mine": it restarts kubelets or runtimes; an existing cluster is never changed.',
        ),
    ],
    ids=[
        "too-few",
        "one",
        "no-hostname",
        "unlike",
        "many-nodes",
        "many-pods",
        "fixed",
        "quota",
        "no-room",
        "disturbed",
    ],
)
def test_what_the_cluster_cannot_give_is_refused(
    there: tuple[SurveyedNode, ...], how: dict[str, Any], refusal: str
) -> None:
    with pytest.raises(UsageError) as refused:
        group(*there, **how)
    assert str(refused.value) == refusal


def test_as_many_nodes_and_pods_as_may_be_are_planned() -> None:
    plan = planned(group(*nodes(500), over=500, max_pods=10))
    assert sum(int(count) for count in plan.stages[0].users.values()) == 500 * (1 + 3) + 1
    assert open_files_of(plan) == 2 * (500 * (5 + 3) + 1) + 500


def test_every_node_is_taken_and_has_the_kubelet_profile() -> None:
    plan = planned(group(*nodes(3), over=3))
    assert [each.name for each in plan.requests] == ["max-1s-0", "max-1s-1", "max-1s-2"]
    assert {plan.kubelet(name).name for name in ("storm", "max-1s-2")} == {"max-1s"}
    assert profiles_of(plan, {"storm": "storm"})["max-1s-1"] == "max-1s"


def test_the_prediction_is_that_of_a_node_times_the_nodes() -> None:
    settled = with_users(crashers=10)
    settled = msgspec.structs.replace(settled, stages=(msgspec.structs.replace(settled.stages[0], settle_s=120),))
    one, three = (planned(group(*nodes(3), over=over, profile=settled)) for over in (2, 3))
    assert predicted_per_s(three, three.stages[0]) == pytest.approx(1.5 * (predicted_per_s(one, one.stages[0]) or 0))


class OnPaper(msgspec.Struct):
    """A cluster of which only the description is looked at."""

    info: ClusterInfo


def test_the_load_generator_gets_the_nodes_that_the_only_one_stands_for(tmp_path: Path) -> None:
    plan = planned(group(*nodes(2)))
    there = {name: Node(name=name, profile="max-1s") for name in plan.spread}
    info = cluster_info(*tuple(there.values()), provider="existing")
    where = Site(
        cluster=cast("Cluster", OnPaper(info)), api=cast("KubeApi", None), nodes=there, namespace="ns", run="r"
    )
    order = order_of(plan, where, StressDir(tmp_path))
    assert order.hosts == {"storm": "storm"}
    assert order.spread == {"max-1s-0": "max-1s-0.example", "max-1s-1": "max-1s-1.example"}


def test_a_cluster_that_is_surveyed_gives_its_nodes(tmp_path: Path) -> None:
    profile = tmp_path / "mine.yaml"
    profile.write_text(
        "# Pods crash.\nnodes: [{name: storm, profile: max-1s}]\nloads: {crashers: {kind: crash, node: storm}}\n"
        "stages: [{name: storm, duration_s: 60, users: {crashers: full}}]\nslos: {files: [official], report: ['*'], "
        "without: [pod-startup-latency-by-kubelet]}\n",
        encoding="utf-8",
    )
    peer = ExistingPeer(node_object("worker-1"), node_object("worker-2"), node_object("worker-3", ready=False))
    with serving(peer, tmp_path) as kubeconfig:
        existing = ExistingOptions(kubeconfig=kubeconfig, namespace="crashloop", image="registry.example/shell:1")
        plan = plan_stress(
            StressOptions(profile=str(profile), provider="existing", existing=existing, spread_over="all")
        )
        with pytest.raises(UsageError, match=r"--spread-over 3 needs 3 nodes .*: stock \(2 nodes\)\."):
            plan_stress(StressOptions(profile=str(profile), provider="existing", existing=existing, spread_over=3))
    assert plan.spread == {"worker-1": "worker-1", "worker-2": "worker-2"}
    assert plan.load.nodes == (StressNode(name="storm", profile="stock"),)
