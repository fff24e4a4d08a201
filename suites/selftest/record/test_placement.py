"""Nodes of the plan find their nodes of the cluster, and runs their names."""

from pathlib import Path

import pytest

from crashloop.cluster.provider import Node
from crashloop.errors import ClusterError
from crashloop.record.naming import run_name
from crashloop.record.nodes import matches_profile, node_event
from crashloop.record.placement import match, place
from crashloop.spec.plan import PlannedNode
from crashloop.spec.profile import KubeletProfile


def planned(*names: tuple[str, str]) -> list[PlannedNode]:
    return [PlannedNode(name=name, profile=profile) for name, profile in names]


def nodes(*names: tuple[str, str]) -> list[Node]:
    return [Node(name=name, profile=profile) for name, profile in names]


def placed(wanted: list[PlannedNode], present: list[Node]) -> dict[str, str]:
    return {name: node.name for name, node in place(wanted, present).items()}


def test_a_node_of_the_same_name_is_taken_first() -> None:
    assert placed(planned(("a", "p"), ("b", "p")), nodes(("b", "p"), ("a", "p"))) == {"a": "a", "b": "b"}


def test_nodes_whose_names_the_provider_chose_are_found_by_profile() -> None:
    wanted = planned(("p", "p"), ("q", "q"), ("p-own", "p"))
    present = nodes(("kind-worker", "p"), ("kind-worker2", "q"), ("kind-worker3", "p"))
    assert placed(wanted, present) == {"p": "kind-worker", "q": "kind-worker2", "p-own": "kind-worker3"}


def test_a_node_that_was_there_before_serves_a_planned_one_of_its_profile() -> None:
    assert placed(planned(("p-second", "p")), nodes(("p-first", "p"))) == {"p-second": "p-first"}


def test_a_node_that_is_missing_is_named() -> None:
    wanted, present = planned(("p", "p"), ("p-own", "p")), nodes(("p", "p"), ("q", "q"))
    assert list(match(wanted, present)) == ["p"]
    with pytest.raises(ClusterError) as raised:
        place(wanted, present)
    assert str(raised.value) == (
        "cluster: no node with profile 'p' is left for 'p-own' of the plan.\nIts nodes: p (p), q (q)."
    )


TWO = KubeletProfile(
    name="max-2s",
    config={
        "crashLoopBackOff": {"maxContainerRestartPeriod": "2s"},
        "featureGates": {"KubeletCrashLoopBackOffMax": True},
    },
)
GATE = {"KubeletCrashLoopBackOffMax": True}


@pytest.mark.parametrize(
    ("configz", "matches"),
    [
        ({"crashLoopBackOff": {"maxContainerRestartPeriod": "2s"}, "featureGates": GATE}, True),
        ({"crashLoopBackOff": {"maxContainerRestartPeriod": "2000ms"}, "featureGates": GATE | {"Other": False}}, True),
        ({"crashLoopBackOff": {"maxContainerRestartPeriod": "5m0s"}, "featureGates": GATE}, False),
        ({"crashLoopBackOff": {"maxContainerRestartPeriod": "2s"}, "featureGates": {next(iter(GATE)): False}}, False),
        ({"crashLoopBackOff": {"maxContainerRestartPeriod": "2s"}}, None),
        ({"featureGates": GATE}, False),
    ],
    ids=["as-set", "spelt-otherwise", "other-maximum", "other-gate", "silent-about-the-gate", "maximum-missing"],
)
def test_a_node_matches_its_profile_by_maximum_and_gates(configz: dict[str, object], matches: bool | None) -> None:
    assert matches_profile(configz, TWO) is matches


def test_a_profile_that_sets_nothing_is_upstream_s_default() -> None:
    stock = KubeletProfile(name="stock")
    assert matches_profile({"crashLoopBackOff": {"maxContainerRestartPeriod": "5m0s"}}, stock)
    assert matches_profile({}, stock)
    assert not matches_profile({"crashLoopBackOff": {"maxContainerRestartPeriod": "10s"}}, stock)


def test_a_kubelet_that_tells_nothing_is_recorded_as_unknown() -> None:
    assert node_event("node", TWO, None, None).data == {
        "kubelet_pid": None,
        "kubelet_started_ns": None,
        "configz": None,
        "gates": None,
        "matches_profile": None,
    }


def test_the_name_of_a_run_fits_where_names_are_narrow() -> None:
    name = run_name(Path("/runs/20261121T160000Z-conformance"))
    assert name.startswith("20261121t160000z-conformance-")
    assert len(name) == 35
    assert run_name(Path("/runs/_My run!")).startswith("my-run-")
    assert run_name(Path("/runs/__")).startswith("run-")


def test_two_directories_of_the_same_name_have_runs_of_different_names() -> None:
    assert run_name(Path("/a/run")) != run_name(Path("/b/run"))
