"""A recorder that hangs is noticed after the longest time that its plan may take."""

from crashloop.record.schedule import SLOWEST
from crashloop.run.judging import OVERHEAD_S, longest_s
from crashloop.spec.assignment import assign
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.plan import Budgets
from crashloop.spec.pod import Container, Pod
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.recording_site import plan_of


def watched(name: str, at_most_s: float, *, disturbs: bool = False) -> PodScenario:
    kill = Intervention(trigger=Trigger(), action=InterventionKind.KILL_KUBELET)
    pod = Pod(containers=(Container(),))
    interventions = (kill,) if disturbs else ()
    return PodScenario(name=name, profile="p", pod=pod, until=Until(at_most_s=at_most_s), interventions=interventions)


def bound_s(*scenarios: PodScenario, budgets: Budgets) -> float:
    assignment = assign(scenarios, budgets, nodes={"p": "node"})
    return longest_s(plan_of(*scenarios, budgets=budgets, nodes=assignment.nodes, placements=assignment.placements))


def test_what_runs_side_by_side_counts_once_and_what_runs_alone_each_time() -> None:
    budgets = Budgets(live_nodes=1, container_starts_per_s=1.0)
    beside = (watched("a", 100), watched("b", 40))
    assert bound_s(*beside, budgets=budgets) == 2 * (100 + OVERHEAD_S) + 4 / SLOWEST
    disturbing = watched("c", 50, disturbs=True)
    assert bound_s(*beside, disturbing, budgets=budgets) == 2 * (150 + 2 * OVERHEAD_S) + 6 / SLOWEST


def test_few_pods_at_once_take_longer() -> None:
    scenarios = tuple(watched(f"s-{n}", 60) for n in range(10))
    assert bound_s(*scenarios, budgets=Budgets(live_pods=4)) > 10 * 60 / 4 + 60
    assert bound_s(*scenarios, budgets=Budgets(live_pods=4)) > bound_s(*scenarios, budgets=Budgets())
