"""Scenarios whose images nodes have to pull, in plans: only where the cluster has a registry."""

from crashloop.cluster.existing.survey import ALWAYS as EXISTING
from crashloop.cluster.kind.cluster import ALWAYS as KIND
from crashloop.cluster.provider import Capability
from crashloop.run.planning import Declared, build_plan
from crashloop.spec.plan import Budgets, Plan
from suites.conformance.test_pulls import PULLED_ALWAYS

SETTINGS = {"provider": "local", "scope": "full", "kubernetes_version": "1.37.1"}


def planned(capabilities: frozenset[Capability]) -> Plan:
    plan = build_plan((Declared("OVH-1", PULLED_ALWAYS),), SETTINGS, capabilities, Budgets())
    assert plan is not None
    return plan


def test_a_cluster_with_a_registry_runs_them() -> None:
    assert [each.name for each in planned(frozenset(Capability)).scenarios] == ["pulls-always-max-2s"]


def test_kind_and_existing_clusters_skip_them() -> None:
    for capabilities in (KIND, EXISTING | {Capability.KUBELET_PROFILES}):
        plan = planned(capabilities)
        assert (plan.scenarios, [each.reason for each in plan.skipped]) == (
            (),
            ["the provider lacks the capability image-registry"],
        )
