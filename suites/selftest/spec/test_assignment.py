"""Scenarios get nodes: as few as the critical path allows, and none that two disturbing ones use at the same time."""

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.spec.assignment import MOST_BESIDE, Assignment, assign
from crashloop.spec.control_plane import ApiRequest
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.plan import Budgets
from crashloop.spec.pod import Container, Pod
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import ApiScenario, PodScenario, Until


def watched(name: str, profile: str = "stock", at_most_s: float = 90.0, *, disturbs: bool = False) -> PodScenario:
    restart = Intervention(trigger=Trigger(after_s=1), action=InterventionKind.RESTART_KUBELET)
    return PodScenario(
        name=name,
        profile=profile,
        pod=Pod(containers=(Container(program=exits_with(1, times=3)),)),
        until=Until(restarts={"app": 3}, at_most_s=at_most_s),
        interventions=(restart,) if disturbs else (),
    )


def nodes(assignment: Assignment) -> dict[str, str]:
    return {node.name: node.profile for node in assignment.nodes}


def test_scenarios_of_a_profile_share_its_node_and_the_longest_is_launched_first() -> None:
    assignment = assign((watched("short", at_most_s=10), watched("long"), watched("other", "max-2s", 50)), Budgets())
    assert nodes(assignment) == {"stock": "stock", "max-2s": "max-2s"}
    assert list(assignment.placements.items()) == [("long", "stock"), ("other", "max-2s"), ("short", "stock")]


def test_more_scenarios_than_a_kubelet_serves_in_time_share_several_nodes_alike() -> None:
    assignment = assign([watched(f"scenario-{number}") for number in range(MOST_BESIDE + 1)], Budgets())
    assert Counter(assignment.placements.values()) == {"stock": MOST_BESIDE // 2 + 1, "stock-2": MOST_BESIDE // 2}


def test_a_scenario_that_disturbs_its_node_gets_one_of_its_own_if_the_run_would_take_longer_otherwise() -> None:
    assignment = assign((watched("beside"), watched("disturbing", disturbs=True)), Budgets())
    assert assignment.placements == {"beside": "stock", "disturbing": "stock-2"}


def test_those_that_disturb_follow_each_other_on_a_node_as_long_as_the_run_does_not_take_longer() -> None:
    scenarios = (
        watched("longest", "max-2s", 300),
        watched("beside", at_most_s=100),
        watched("first", at_most_s=80, disturbs=True),
        watched("second", at_most_s=70, disturbs=True),
        watched("third", at_most_s=60, disturbs=True),
    )
    assignment = assign(scenarios, Budgets())
    assert assignment.placements == {
        "longest": "max-2s",
        "beside": "stock",
        "first": "stock",
        "second": "stock",
        "third": "stock-2",
    }


def test_a_node_is_used_again_while_the_host_still_starts_what_other_nodes_need() -> None:
    scenarios = (watched("longest", "max-2s", 150), watched("beside"), watched("disturbing", disturbs=True))
    assert nodes(assign(scenarios, Budgets())) == {"max-2s": "max-2s", "stock": "stock", "stock-2": "stock"}
    assert nodes(assign(scenarios, Budgets(), starting_s=200)) == {"max-2s": "max-2s", "stock": "stock"}


def test_expected_durations_count_where_they_are_known() -> None:
    assignment = assign((watched("a"), watched("b", at_most_s=80)), Budgets(), {"a": 20.0})
    assert list(assignment.placements) == ["b", "a"]


def test_nodes_beyond_the_budget_come_up_later_those_that_are_needed_longest_first() -> None:
    scenarios = tuple(watched(f"s-{n}", f"p-{n}", 10.0 * n) for n in range(1, 6))
    assignment = assign(scenarios, Budgets(live_nodes=2))
    assert [node.name for node in assignment.nodes] == ["p-5", "p-4", "p-3", "p-2", "p-1"]


def test_where_nodes_cannot_change_scenarios_that_disturb_share_what_the_budget_allows() -> None:
    scenarios = (
        watched("beside"),
        *(watched(f"d-{n}", disturbs=True) for n in range(5)),
        watched("other", "max-2s"),
    )
    assignment = assign(scenarios, Budgets(live_nodes=3), nodes_change=False)
    assert nodes(assignment) == {"stock": "stock", "stock-2": "stock", "max-2s": "max-2s"}
    assert Counter(assignment.placements.values()) == {"stock": 3, "stock-2": 3, "max-2s": 1}


def test_a_node_that_exists_stands_for_all_of_its_profiles() -> None:
    scenarios = (watched("one"), watched("two", "default"), watched("three", disturbs=True))
    assignment = assign(scenarios, Budgets(), nodes={"stock": "worker", "default": "worker"})
    assert [node.name for node in assignment.nodes] == ["worker"]
    assert set(assignment.placements.values()) == {"worker"}


def test_a_scenario_that_needs_no_node_is_not_placed() -> None:
    request = ApiRequest(object={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}})
    assert assign((ApiScenario(name="refused", requests=(request,)),), Budgets()) == ((), {})


def test_a_further_node_never_takes_the_name_of_another_profile() -> None:
    scenarios = (watched("a"), watched("b", disturbs=True), watched("c", "stock-2"))
    assert nodes(assign(scenarios, Budgets())) == {"stock": "stock", "stock-2": "stock-2", "stock-3": "stock"}


DRAFTS = st.lists(
    st.tuples(st.sampled_from(["stock", "max-2s", "max-1s"]), st.integers(1, 900), st.booleans()),
    min_size=1,
    max_size=20,
)


@given(DRAFTS, st.integers(1, 8), st.booleans())
def test_every_scenario_is_placed_once_on_a_node_of_its_profile(
    drafts: list[tuple[str, int, bool]], live_nodes: int, nodes_change: bool
) -> None:
    scenarios = tuple(
        watched(f"s-{n}", profile, length, disturbs=disturbs) for n, (profile, length, disturbs) in enumerate(drafts)
    )
    assignment = assign(scenarios, Budgets(live_nodes=live_nodes), nodes_change=nodes_change)
    profiles = nodes(assignment)
    assert len(profiles) == len(assignment.nodes)
    assert {name: profiles[node] for name, node in assignment.placements.items()} == {
        each.name: each.profile for each in scenarios
    }
    assert set(assignment.placements.values()) == set(profiles)
    if not nodes_change:
        assert len(profiles) <= max(live_nodes, len({each.profile for each in scenarios}))


@pytest.mark.parametrize("shuffled", [False, True])
def test_the_order_of_declaration_does_not_matter(shuffled: bool) -> None:
    scenarios = [watched(f"s-{n}", "stock", 90.0, disturbs=n % 2 == 0) for n in range(8)]
    given_order = tuple(reversed(scenarios)) if shuffled else tuple(scenarios)
    assignment = assign(given_order, Budgets(live_nodes=3))
    assert assignment == assign(tuple(msgspec.structs.replace(each) for each in scenarios), Budgets(live_nodes=3))
