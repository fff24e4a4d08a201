"""The plan for a cluster that exists: on the nodes it has, within its pods, and with a reason for all that is skipped."""

from typing import Any

from crashloop.cluster.provider import Capability, Survey, SurveyedNode
from crashloop.run.existing import Offer
from crashloop.run.planning import Declared, build_plan
from crashloop.spec.plan import Budgets, Judgeable, Judgement, Plan, compared
from crashloop.spec.pod import Container, Pod
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, StartupScenario, Until
from crashloop.verdict import VerdictMode
from sim.host import NO_RUNTIME
from suites.selftest.kit.fault_scenarios import trials
from tools.trials import recordings_of, verdict_of

SETTINGS = {"provider": "existing", "scope": "quick", "kubernetes_version": "9.99"}
NODES = (
    SurveyedNode(name="a", kubelet_version="1.37.1", declared="stock"),
    SurveyedNode(name="b", kubelet_version="1.36.3", declared="max-2s"),
)


def crashing(name: str, profile: str) -> PodScenario:
    pod = Pod(containers=(Container(program=exits_with(1, times=3)),))
    return PodScenario(name=name, profile=profile, pod=pod, until=Until(restarts={"app": 3}))


def on(requirement: str, scenario: Judgeable) -> Declared:
    return Declared(requirement, scenario)


def planned(*declared: Declared, budgets: Budgets | None = None, **of: Any) -> Plan:
    survey = Survey(kubernetes_version="1.37.1", nodes=NODES, max_pods=40, capabilities=frozenset())
    capabilities = of.get("capabilities", frozenset())
    plan = build_plan(declared, SETTINGS, capabilities, budgets or Budgets(), Offer(survey))
    assert plan is not None
    return plan


def reasons(plan: Plan) -> dict[str, str]:
    return {f"{each.requirement} {each.scenario}": each.reason for each in plan.skipped}


def test_scenarios_run_on_the_nodes_that_stand_for_their_profiles() -> None:
    plan = planned(on("BACKOFF-2", crashing("one", "stock")), on("CAP-3", crashing("two", "max-2s")))
    assert plan.kubernetes_version == "1.37.1"
    assert plan.placements == {"one": "a", "two": "b"}
    assert {node.name: node.profile for node in plan.nodes} == {"a": "stock", "b": "max-2s"}
    assert plan.profile("stock").kubernetes_version is None
    assert plan.profile("max-2s").kubernetes_version == "1.36.3"


def test_a_profile_that_no_node_has_is_skipped_with_what_the_nodes_have() -> None:
    plan = planned(on("BACKOFF-2", crashing("one", "stock")), on("CAP-6", crashing("eleven", "max-11s")))
    assert reasons(plan) == {
        "CAP-6 eleven": 'no node of the cluster has the kubelet profile "max-11s"; its nodes: a (stock), b (max-2s)'
    }


def test_what_the_provider_cannot_do_is_skipped_with_the_missing_capability() -> None:
    plan = planned(
        on("RULES-17", crashing("in-place", "max-2s")),
        on("CONFIG-1", crashing("configured", "max-2s")),
        on("CONFIG-2", StartupScenario(name="start", profile="stock", candidate="max-0s")),
    )
    assert reasons(plan) == {
        "RULES-17 in-place": "the provider lacks the capability runtime-events",
        "CONFIG-1 configured": "the provider lacks the capability configz",
        "CONFIG-2 start": "the provider lacks the capability kubelet-candidate",
    }
    assert (plan.scenarios, plan.nodes, plan.placements) == ((), (), {})


def test_what_only_the_runtime_shows_is_skipped_and_not_left_open() -> None:
    """Of every judgement of the quick scope: where containers' journals and statuses are all that is known, they suffice."""
    left_open = set()
    for each in trials():
        skipped = planned(on(each.requirement.id, each.scenario)).skipped if each.scope == "quick" else ("not quick",)
        if skipped or each.requirement.mode is not VerdictMode.GATE:
            continue
        verdict = verdict_of(each.requirement, each.scenario, *recordings_of(each.scenario, host=NO_RUNTIME))
        if any(" needed: " in finding for finding in verdict.findings):
            left_open.add(each.requirement.id)
    assert left_open == set()


def test_with_the_configuration_read_requirements_on_it_are_judged() -> None:
    plan = planned(on("CONFIG-1", crashing("configured", "max-2s")), capabilities=frozenset({Capability.CONFIGZ}))
    assert plan.skipped == ()


def test_the_plan_says_how_many_pods_may_be_there_at_once() -> None:
    plan = planned(on("BACKOFF-2", crashing("one", "stock")), budgets=Budgets(live_pods=3))
    assert plan.budgets.live_pods == 3


def test_a_comparison_is_one_judgement_on_scenarios_of_several_nodes() -> None:
    both = compared("both", crashing("one", "stock"), crashing("two", "max-2s"))
    plan = planned(on("CAP-5", both))
    assert plan.judgements == (Judgement(requirement="CAP-5", scenario="both", compared=("one", "two")),)
    assert plan.placements == {"one": "a", "two": "b"}
    assert [each.name for each in plan.scenarios] == ["one", "two"]


def test_a_comparison_is_skipped_if_one_of_its_nodes_is_missing() -> None:
    both = compared("both", crashing("one", "stock"), crashing("eleven", "max-11s"))
    plan = planned(on("CAP-5", both), on("BACKOFF-2", crashing("one", "stock")))
    assert reasons(plan) == {
        "CAP-5 both": 'no node of the cluster has the kubelet profile "max-11s"; its nodes: a (stock), b (max-2s)'
    }
    assert [each.name for each in plan.scenarios] == ["one"]
    (skip,) = plan.skipped
    assert skip.profile == "stock, max-11s"
