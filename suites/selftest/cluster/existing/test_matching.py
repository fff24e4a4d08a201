"""Nodes of a cluster that exists stand for kubelet profiles by their effective configuration, or by declaration."""

from typing import Any

import pytest

from crashloop.cluster.provider import Survey, SurveyedNode
from crashloop.errors import UsageError
from crashloop.model.config import agrees
from crashloop.profiles import load_profile
from crashloop.run.existing import Offer
from crashloop.spec.version import KubernetesVersion
from sim.behaviour import Behaviour
from sim.config import Effective, take
from suites.selftest.kit.profiles import all_profiles

V1_37 = KubernetesVersion(1, 37, 1)


def node(name: str = "worker", **of: Any) -> SurveyedNode:
    return SurveyedNode(**({"name": name, "kubelet_version": "1.37.1"} | of))


def survey(*nodes: SurveyedNode, version: str = "1.37.1") -> Survey:
    return Survey(kubernetes_version=version, nodes=nodes, max_pods=40, capabilities=frozenset())


def configz(period: str | None = "5m0s", **gates: bool) -> dict[str, Any]:
    """What a kubelet shows: the period is filled in, gates are there only if they were set."""
    told: dict[str, Any] = {"maxPods": 110, "featureGates": gates}
    return told if period is None else told | {"crashLoopBackOff": {"maxContainerRestartPeriod": period}}


def found(told: dict[str, Any], profile: str, version: str = "1.37.1") -> str | None:
    offered = survey(node(configz=told, kubelet_version=version), version=version)
    return Offer(offered).node_for(load_profile(profile))


@pytest.mark.parametrize(
    ("told", "profile", "stands"),
    [
        (configz(), "stock", True),
        (configz(), "max-300s", True),
        (configz("2s"), "max-2s", True),
        (configz("2s", KubeletCrashLoopBackOffMax=True), "max-2s", True),
        (configz("2000ms"), "max-2s", True),
        (configz("2s"), "max-4s", False),
        (configz("2s", ReduceDefaultCrashLoopBackOffDecay=True), "max-2s", False),
        (configz("2s", ReduceDefaultCrashLoopBackOffDecay=True), "reduced-decay-max-2s", True),
        (configz(ReduceDefaultCrashLoopBackOffDecay=True), "reduced-decay", True),
        (configz(RestartAllContainersOnContainerExits=False), "stock", False),
        (configz(RestartAllContainersOnContainerExits=False), "restart-all-off", True),
        (configz(None, KubeletCrashLoopBackOffMax=False), "max-gate-off", True),
        (configz(SomeOtherGate=True), "stock", True),
    ],
    ids=[
        "stock",
        "the-default-spelled-out",
        "gate-on-by-default",
        "gate-set",
        "other-unit",
        "other-maximum",
        "reduced-is-another-curve",
        "reduced",
        "reduced-with-the-default-filled-in",
        "other-gate",
        "that-gate",
        "maximum-gate-off",
        "gate-that-matters-to-nobody",
    ],
)
def test_a_node_stands_for_a_profile_if_its_configuration_comes_to_the_same(
    told: dict[str, Any], profile: str, stands: bool
) -> None:
    assert (found(told, profile) == "worker") is stands


def test_gates_have_the_default_of_the_release_of_the_node() -> None:
    assert found(configz(None), "stock", version="1.34.4") == "worker"
    assert found(configz("2s", KubeletCrashLoopBackOffMax=True), "max-2s", version="1.34.4") == "worker"
    assert found(configz("2s"), "max-2s", version="1.37.1") == "worker"
    assert found(configz("2s"), "max-2s", version="1.34.4") is None


def test_every_profile_that_a_kubelet_starts_with_agrees_with_what_that_kubelet_tells() -> None:
    started = 0
    for profile in all_profiles():
        effective = take(profile, V1_37, Behaviour())
        if isinstance(effective, Effective):
            started += 1
            assert agrees(effective.configz, profile, V1_37), profile.name
    assert started >= 12


def test_a_node_that_was_declared_stands_for_that_profile_alone() -> None:
    offer = Offer(survey(node("a", declared="stock"), node("b", declared="max-2s")))
    assert offer.node_for(load_profile("max-2s")) == "b"
    assert offer.node_for(load_profile("max-300s")) is None


def test_a_declaration_that_the_configuration_contradicts_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        Offer(survey(node(declared="max-2s", configz=configz("30s"))), [load_profile("max-2s")])
    assert str(caught.value) == (
        'node worker: declared to have the kubelet profile "max-2s", but its configuration is another '
        "(10 s to 30 s by its configuration).\nLeave --node-profile worker=max-2s out."
    )


def test_a_node_that_cannot_be_used_stands_for_nothing_and_the_reason_is_reported() -> None:
    nodes = (node("a", declared="max-2s", unusable="cordoned"), node("b", configz=configz("30s")), node("c"))
    offer = Offer(survey(*nodes))
    assert offer.node_for(load_profile("max-2s")) is None
    assert offer.why_none(load_profile("max-2s")) == (
        'no node of the cluster has the kubelet profile "max-2s"; its nodes: a (not used: cordoned), '
        "b (10 s to 30 s by its configuration), c (profile unknown)"
    )


def test_a_profile_takes_the_version_of_its_node_where_that_is_not_the_cluster_s() -> None:
    older = Offer(survey(node(declared="stock", kubelet_version="1.36.3")))
    assert older.on_node(load_profile("stock")).kubernetes_version == "1.36.3"
    same = Offer(survey(node(declared="stock")))
    assert same.on_node(load_profile("stock")) == load_profile("stock")


def test_a_node_of_another_version_is_not_the_one_that_is_named() -> None:
    offer = Offer(survey(node("a", declared="max-2s@1.35.8", kubelet_version="1.35.8")))
    assert offer.node_for(load_profile("max-2s@1.35.8")) == "a"
    assert offer.node_for(load_profile("max-2s@1.36.4")) is None
    read = Offer(survey(node("b", configz=configz("2s"), kubelet_version="1.35.8")))
    assert [read.node_for(load_profile(f"max-2s@{each}")) for each in ("1.35.8", "1.36.4")] == ["b", None]
