"""What is due next in a run, played with a clock of its own: budgets are kept, and nobody waits without need."""

from collections import defaultdict
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.record.schedule import ROUNDING, WINDOW_S, Forecast, Schedule, forecast
from crashloop.record.stage import AT_ONCE
from crashloop.spec.assignment import REPLACE_S, assign
from crashloop.spec.control_plane import ApiRequest
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.plan import Budgets, Plan
from crashloop.spec.pod import Container, Pod
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import ApiScenario, PodScenario, Scenario, StartupScenario, Until

BRING_UP_S = 5.0
TAKE_DOWN_S = 2.0


def watched(
    name: str, profile: str = "stock", at_most_s: float = 90.0, *, disturbs: bool = False, containers: int = 1
) -> PodScenario:
    restart = Intervention(trigger=Trigger(after_s=1), action=InterventionKind.RESTART_KUBELET)
    return PodScenario(
        name=name,
        profile=profile,
        pod=Pod(containers=tuple(Container(name=f"c{n}") for n in range(containers))),
        until=Until(at_most_s=at_most_s),
        interventions=(restart,) if disturbs else (),
    )


def planned(scenarios: tuple[Scenario, ...], *, nodes_change: bool = True, **budgets: float) -> Plan:
    bounds = Budgets(**budgets)  # type: ignore[arg-type]
    assignment = assign(scenarios, bounds, nodes_change=nodes_change)
    names = sorted({name for each in scenarios for name in each.profiles})
    return Plan(
        suite="test",
        provider="local",
        kubernetes_version="1.37.1",
        scope="full",
        budgets=bounds,
        profiles=tuple(KubeletProfile(name=name) for name in names),
        scenarios=scenarios,
        judgements=(),
        nodes=assignment.nodes,
        placements=assignment.placements,
        starts_s={each.name: restarting(each) for each in scenarios if each.starts},
        probes_s={each.name: tuple(range(3, int(each.longest_s), 10)) for each in scenarios if each.starts},
    )


def restarting(scenario: Scenario) -> tuple[float, ...]:
    """Its launch, and a restart each 7 s."""
    return (*(0.0,) * scenario.starts, *range(7, int(scenario.longest_s), 7))


def play(
    plan: Plan, took_s: Mapping[str, float] | None = None, *, node_pods: int = 0, nodes_change: bool = True
) -> Forecast:
    """Carry a plan out by its schedule; a scenario takes as long as it may, or `took_s`."""
    schedule = Schedule(plan, at_once=AT_ONCE, node_pods=node_pods, nodes_change=nodes_change)
    length_s = {each.name: each.longest_s for each in plan.scenarios} | dict(took_s or {})
    return forecast(schedule, length_s, bring_up_s=BRING_UP_S, take_down_s=TAKE_DOWN_S)


def most_nodes(played: Forecast) -> int:
    return max(sum(begin <= at < end for begin, end in played.nodes.values()) for at, _ in played.nodes.values())


DRAFTS = st.lists(
    st.tuples(
        st.sampled_from(["stock", "max-2s", "max-1s", "max-4s"]),
        st.integers(1, 300),
        st.booleans(),
        st.integers(1, 5),
        st.floats(0.1, 1.0),
    ),
    min_size=1,
    max_size=15,
)
Drafts = list[tuple[str, int, bool, int, float]]


def drafted(drafts: Drafts) -> tuple[tuple[PodScenario, ...], dict[str, float]]:
    """Scenarios, and how long each takes."""
    scenarios = tuple(
        watched(f"s-{n}", profile, length_s, disturbs=disturbs, containers=containers)
        for n, (profile, length_s, disturbs, containers, _) in enumerate(drafts)
    )
    return scenarios, {each.name: each.longest_s * draft[4] for each, draft in zip(scenarios, drafts, strict=True)}


@given(DRAFTS, st.integers(1, 4), st.booleans())
def test_every_scenario_runs_once_and_no_budget_is_exceeded(
    drafts: Drafts, live_nodes: int, nodes_change: bool
) -> None:
    scenarios, took_s = drafted(drafts)
    plan = planned(scenarios, nodes_change=nodes_change, live_nodes=live_nodes)
    played = play(plan, took_s, nodes_change=nodes_change)
    assert played.scenarios.keys() == {each.name for each in scenarios}
    if nodes_change:
        assert most_nodes(played) <= live_nodes
    windows: defaultdict[int, list[tuple[str, float]]] = defaultdict(list)
    for each in scenarios:
        begin_s, end_s = played.scenarios[each.name]
        for at_s, starts in plan.work_of(each):
            if begin_s + at_s <= end_s:
                windows[int((begin_s + at_s) // WINDOW_S)].append((each.name, starts))
    for due in windows.values():
        starts = sum(each for _, each in due)
        assert starts <= plan.budgets.container_starts_per_s * WINDOW_S + ROUNDING or len(dict(due)) == 1


@given(DRAFTS, st.integers(1, 4), st.booleans())
def test_what_disturbs_a_node_is_alone_there_and_comes_after_all_that_does_not(
    drafts: Drafts, live_nodes: int, nodes_change: bool
) -> None:
    scenarios, took_s = drafted(drafts)
    plan = planned(scenarios, nodes_change=nodes_change, live_nodes=live_nodes)
    played = play(plan, took_s, nodes_change=nodes_change).scenarios
    for each in scenarios:
        begin_s, end_s = played[each.name]
        for other in scenarios:
            if each is other or plan.placements[each.name] != plan.placements[other.name] or not each.disturbs_node:
                continue
            other_begin_s, other_end_s = played[other.name]
            assert other_end_s <= begin_s or (other.disturbs_node and other_begin_s >= end_s)


@given(DRAFTS, st.integers(2, 5), st.sampled_from([0, 1]))
def test_no_more_pods_are_there_than_the_budget_allows_heartbeats_included(
    drafts: Drafts, live_pods: int, node_pods: int
) -> None:
    scenarios, took_s = drafted(drafts)
    played = play(planned(scenarios, live_pods=live_pods), took_s, node_pods=node_pods)
    for at_s, _ in played.scenarios.values():
        pods = sum(begin_s <= at_s < end_s for begin_s, end_s in played.scenarios.values())
        heartbeats = node_pods * sum(begin_s <= at_s < end_s for begin_s, end_s in played.nodes.values())
        assert pods + heartbeats + (live_pods > 2) <= live_pods, "the recorder has a pod of its own"


@given(DRAFTS)
def test_where_slots_suffice_the_run_takes_little_longer_than_its_longest_scenario(drafts: Drafts) -> None:
    scenarios, _ = drafted(drafts)
    plan = planned(scenarios, live_nodes=len(scenarios))
    critical_s = max(each.longest_s for each in scenarios)
    assert play(plan).ends_s <= critical_s + BRING_UP_S + plan.launching_s + 1.0


@given(DRAFTS, st.integers(1, 4))
def test_where_slots_are_short_they_are_never_idle_while_a_node_waits(drafts: Drafts, live_nodes: int) -> None:
    scenarios, _ = drafted(drafts)
    plan = planned(scenarios, live_nodes=live_nodes)
    side_by_side_s: dict[str, float] = {}
    for each in scenarios:
        if not each.disturbs_node:
            side_by_side_s[each.profile] = max(side_by_side_s.get(each.profile, 0.0), each.longest_s)
    alone_s = [each.longest_s for each in scenarios if each.disturbs_node]
    work_s = sum(side_by_side_s.values()) + sum(alone_s)
    turns_s = (BRING_UP_S + TAKE_DOWN_S + REPLACE_S + 1.0) * (len(side_by_side_s) + len(alone_s))
    bound_s = work_s / live_nodes + max(each.longest_s for each in scenarios) + turns_s + plan.launching_s
    assert play(plan).ends_s <= bound_s, "Graham's bound for lists"


def forty_one_nodes() -> tuple[PodScenario, ...]:
    """16 profiles with scenarios side by side, 25 scenarios that disturb: about 6,700 s of nodes, the longest 961 s."""
    beside_s = (961, 690, 610, 383, 300, 300, 240, 183, 170, 160, 150, 140, 130, 120, 100, 90)
    disturbing_s = (
        300,
        180,
        150,
        150,
        120,
        120,
        120,
        100,
        100,
        90,
        90,
        90,
        80,
        80,
        80,
        70,
        60,
        60,
        60,
        50,
        45,
        45,
        40,
        40,
        30,
    )
    beside = tuple(watched(f"beside-{n}", f"p-{n}", length_s) for n, length_s in enumerate(beside_s))
    disturbing = (
        watched(f"disturbing-{n}", f"p-{n % 5}", length_s, disturbs=True) for n, length_s in enumerate(disturbing_s)
    )
    return (*beside, *disturbing)


def test_forty_one_nodes_on_twelve_slots_take_no_longer_than_the_longest_scenario() -> None:
    scenarios = forty_one_nodes()
    assert len(scenarios) == 41
    assert 6_500 <= sum(each.longest_s for each in scenarios) <= 7_200
    played = play(planned(scenarios))
    assert most_nodes(played) <= 12
    assert played.ends_s <= 961 * 1.10


def test_a_node_comes_up_as_soon_as_another_has_served_its_last_scenario() -> None:
    scenarios = (watched("a", "p-a", 100), watched("b", "p-b", 40), watched("c", "p-c", 30))
    played = play(planned(scenarios, live_nodes=2))
    began_s, _ = played.scenarios["c"]
    _, ended_s = played.scenarios["b"]
    assert ended_s + TAKE_DOWN_S + BRING_UP_S <= began_s <= ended_s + TAKE_DOWN_S + BRING_UP_S + 2.0
    assert played.scenarios["a"][1] > began_s, "the longest is still under way"


def test_nodes_that_nobody_waits_for_stay_up() -> None:
    schedule = Schedule(planned((watched("a"), watched("b", "max-2s"))), at_once=AT_ONCE, node_pods=0)
    for node in schedule.nodes_to_bring_up():
        schedule.is_up(node.name)
    (first,) = schedule.to_launch(0.0)
    schedule.ended(first.name, 0.0)
    assert schedule.nodes_to_take_down() == ()


def test_scenarios_whose_node_did_not_come_up_are_given_back() -> None:
    schedule = Schedule(planned((watched("a"), watched("b"), watched("c", "max-2s"))), at_once=AT_ONCE, node_pods=0)
    assert {node.name for node in schedule.nodes_to_bring_up()} == {"stock", "max-2s"}
    schedule.is_up("max-2s")
    assert sorted(each.name for each in schedule.did_not_come_up("stock")) == ["a", "b"]
    assert [each.name for each in schedule.to_launch(0.0)] == ["c"]
    schedule.ended("c", 0.0)
    assert schedule.is_done


def test_kubelets_are_tried_two_at_a_time_and_wait_for_no_budget() -> None:
    trials = tuple(StartupScenario(name=f"t-{n}", profile="stock", candidate="max-1s") for n in range(3))
    pods = tuple(watched(f"p-{n}") for n in range(3))
    schedule = Schedule(planned((*trials, *pods), live_pods=1), at_once=AT_ONCE, node_pods=0)
    for node in schedule.nodes_to_bring_up():
        schedule.is_up(node.name)
    assert [each.name for each in schedule.to_launch(0.0)] == ["p-0", "t-0", "t-1"]
    schedule.ended("t-0", 0.1)
    assert [each.name for each in schedule.to_launch(0.1)] == ["t-2"]


def test_requests_to_the_api_server_need_no_node_and_follow_each_other() -> None:
    request = ApiRequest(object={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}})
    scenarios = tuple(ApiScenario(name=f"api-{n}", requests=(request,)) for n in range(2))
    schedule = Schedule(planned(scenarios), at_once=AT_ONCE, node_pods=0)
    assert [each.name for each in schedule.to_launch(0.0)] == ["api-0"]
    schedule.ended("api-0", 0.0)
    assert [each.name for each in schedule.to_launch(0.0)] == ["api-1"]
    schedule.ended("api-1", 0.0)
    assert schedule.is_done


@pytest.mark.parametrize("node_pods", [0, 1])
def test_a_budget_that_is_too_small_for_anything_lets_one_at_a_time(node_pods: int) -> None:
    played = play(planned((watched("a"), watched("b", "max-2s")), live_pods=1), node_pods=node_pods)
    (_, first_end_s), (second_begin_s, _) = sorted(played.scenarios.values())
    assert second_begin_s >= first_end_s
