"""Scenarios with a control plane for themselves, in plans: who can have one, where they run, and how long that takes."""

import pytest

from crashloop.cluster.kind.cluster import ALWAYS as KIND
from crashloop.cluster.provider import Capability
from crashloop.run.judging import OVERHEAD_S, longest_s
from crashloop.run.planning import Declared, build_plan, outline
from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.plan import Budgets, Plan
from crashloop.spec.pod import Container, Pod
from crashloop.spec.program import HOLDS
from crashloop.spec.scenario import PodScenario, Until
from suites.conformance.scenarios import crashing
from suites.conformance.test_outages import without

SETTINGS = {"provider": "local", "scope": "full", "kubernetes_version": "1.37.1"}
ALL = frozenset(Capability)
LONE = Declared("FAULT-2", without("etcd", "without-etcd"))
SHARED = Declared("CAP-3", crashing("max-2s", restarts=10))


def planned(*declared: Declared, capabilities: frozenset[Capability] = ALL) -> Plan:
    plan = build_plan(declared, SETTINGS, capabilities, Budgets())
    assert plan is not None
    return plan


def test_a_provider_that_cannot_make_further_control_planes_skips_them() -> None:
    plan = planned(LONE, SHARED, capabilities=KIND)
    assert [each.name for each in plan.scenarios] == ["crashing-max-2s"]
    assert [(each.requirement, each.reason) for each in plan.skipped] == [
        ("FAULT-2", "the provider lacks the capability control-planes")
    ]


def test_a_lone_scenario_takes_no_node_of_the_others() -> None:
    plan = planned(LONE, SHARED)
    assert plan.placements == {"crashing-max-2s": "max-2s", "without-etcd": "without-etcd"}
    assert [each.name for each in plan.shared().nodes] == ["max-2s"]


def test_lone_scenarios_follow_each_other_beside_the_rest() -> None:
    other = Declared("FAULT-1", without("kube-apiserver", "without-api-server"))
    both, one = planned(LONE, other, SHARED), planned(LONE, SHARED)
    assert longest_s(both) - longest_s(one) > 240.0 + OVERHEAD_S
    first, second = (node for node in outline(both, ALL).nodes if node.name.startswith("without"))
    assert second.begin_s >= first.end_s
    assert outline(both, ALL).expected_s == max(node.end_s for node in outline(both, ALL).nodes)


def doing(action: InterventionKind, control_plane: ControlPlane | None, **arguments: object) -> PodScenario:
    return PodScenario(
        name="scenario",
        profile="stock",
        control_plane=control_plane,
        pod=Pod(containers=(Container(program=HOLDS),)),
        until=Until(),
        interventions=(Intervention(trigger=Trigger(), action=action, arguments=arguments),),
    )


@pytest.mark.parametrize("action", [InterventionKind.CUT_OFF_NODE, InterventionKind.STOP_COMPONENT])
def test_nobody_stops_the_control_plane_of_others(action: InterventionKind) -> None:
    with pytest.raises(
        ValueError, match=f"everything in a cluster feels {action}, so it needs a control plane for itself"
    ):
        doing(action, None, component="etcd")
    assert doing(action, ControlPlane(), component="etcd").control_plane is not None


@pytest.mark.parametrize("component", [None, "kubelet"])
def test_what_is_no_component_of_a_control_plane_is_refused(component: str | None) -> None:
    with pytest.raises(ValueError, match="stop-component needs the argument 'component', one of: kube-apiserver, etcd"):
        doing(InterventionKind.STOP_COMPONENT, ControlPlane(), component=component)
