"""Nodes of the plan find their nodes of the cluster, and runs their names."""

from pathlib import Path

import pytest

from crashloop.cluster.provider import Node
from crashloop.errors import ClusterError
from crashloop.record.run_cluster import match_nodes, place_nodes, run_name
from crashloop.record.site import node_event
from crashloop.spec.plan import PlannedNode
from crashloop.spec.profile import KubeletProfile


def planned(*names: tuple[str, str]) -> list[PlannedNode]:
    return [PlannedNode(name=name, profile=profile) for name, profile in names]


def nodes(*names: tuple[str, str]) -> list[Node]:
    return [Node(name=name, profile=profile) for name, profile in names]


def placed(wanted: list[PlannedNode], present: list[Node]) -> dict[str, str]:
    return {name: node.name for name, node in place_nodes(wanted, present).items()}


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
    assert list(match_nodes(wanted, present)) == ["p"]
    with pytest.raises(ClusterError) as raised:
        place_nodes(wanted, present)
    assert str(raised.value) == (
        "cluster: no node with profile 'p' is left for 'p-own' of the plan.\nIts nodes: p (p), q (q)."
    )


def test_a_kubelet_whose_configuration_was_not_read_is_recorded_as_unknown() -> None:
    assert node_event("node", KubeletProfile(name="max-2s"), None, None).data == {
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
