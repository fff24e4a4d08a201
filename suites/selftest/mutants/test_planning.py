"""The plan of a batch has a node for each kubelet and profile, with the scenarios that this kubelet has to meet.

The lot takes mutants of all functions in turn, and always the same ones.
"""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

import suites.conformance
from crashloop.profiles import load_profile
from crashloop.spec.plan import Budgets, Plan
from fixtures.requirements import declared_in
from mutants.mutant import Mutant, sample
from mutants.planning import ITSELF, Work, build_plan, itself, name_for, to_judge

DECLARED = tuple(declared_in(suites.conformance))
MUTANT = Work(number=17, scenarios=("crashing-max-2s", "in-matches", "crashing-reduced-decay"))


def plan(*works: Work) -> Plan:
    return build_plan(
        works,
        DECLARED,
        kubernetes_version="1.37.1",
        budgets=Budgets(),
        profile_of=load_profile,
        kubelet_of=lambda number: f"/kubelets/mutant-{number}",
    )


def test_a_mutant_has_a_node_for_each_profile_of_its_scenarios() -> None:
    made = plan(MUTANT)
    assert [(node.name, node.profile) for node in made.nodes] == [
        ("m17", "max-2s--m17"),
        ("m17-1", "reduced-decay--m17"),
    ]
    assert made.placements == {
        "crashing-max-2s--m17": "m17",
        "in-matches--m17": "m17",
        "crashing-reduced-decay--m17": "m17-1",
    }


def test_its_profile_is_the_suites_own_with_the_mutants_kubelet() -> None:
    profile = plan(MUTANT).profile("max-2s--m17")
    assert profile.config == load_profile("max-2s").config
    assert profile.kubelet_binary == "/kubelets/mutant-17"


def test_its_profile_keeps_the_files_of_the_drop_in_directory() -> None:
    at_the_maximum = Work(number=17, scenarios=("crashing-max-11s",))
    profile = plan(at_the_maximum).profile("max-11s--m17")
    assert profile.merged == load_profile("max-11s").merged
    assert profile.drop_ins


def test_a_scenario_is_the_suites_own_under_another_name_on_another_profile() -> None:
    ours = plan(MUTANT).scenario("in-matches--m17")
    original = next(each for declared in DECLARED for each in declared.scenario.scenarios if each.name == "in-matches")
    assert (ours.pod_spec, ours.longest_s) == (original.pod_spec, original.longest_s)
    assert ours.node_profile == "max-2s--m17"


def test_it_is_judged_by_every_requirement_that_the_suite_judges_it_by() -> None:
    judged = {each.requirement for each in plan(MUTANT).judgements if each.scenario == "in-matches--m17"}
    assert judged == {each.requirement for each in DECLARED if each.scenario.name == "in-matches"}


def test_the_kubelet_without_a_mutant_meets_what_it_has_not_met() -> None:
    assert itself([MUTANT, MUTANT], {"in-matches"}) == Work(
        number=ITSELF, scenarios=("crashing-max-2s", "crashing-reduced-decay")
    )


def test_the_kubelet_without_a_mutant_meets_at_least_one_scenario() -> None:
    assert itself([MUTANT], MUTANT.scenarios) == Work(number=ITSELF, scenarios=("crashing-max-2s",))


def test_names_tell_kubelets_apart() -> None:
    assert name_for("in-matches", 17) == "in-matches--m17"
    made = plan(itself([MUTANT], ()), MUTANT)
    assert len({each.name for each in made.scenarios}) == 6


def test_what_is_sealed_is_judged_once_the_kubelet_itself_was_on_that_scenario() -> None:
    one, own = MUTANT.scenarios[0], Work(number=ITSELF, scenarios=MUTANT.scenarios)
    left = [(MUTANT, one), (own, one), (MUTANT, "in-matches")]
    assert to_judge(left, lambda *_: False, ()) == []
    assert to_judge(left, lambda *_: True, ()) == [(own, one)]
    assert to_judge(left, lambda work, _: work is MUTANT, ()) == [(MUTANT, "in-matches")]
    assert to_judge(left, lambda work, _: work is MUTANT, (one,)) == [(MUTANT, one), (MUTANT, "in-matches")]


def test_a_scenario_that_restarts_its_kubelet_with_another_profile_brings_that() -> None:
    made = plan(Work(number=17, scenarios=("maximum-refused",)))
    assert made.profile("max-2s").config["crashLoopBackOff"] == {"maxContainerRestartPeriod": "2s"}
    assert made.profile("max-2s").kubelet_binary is None


counts = st.dictionaries(st.sampled_from(["Next", "getPhase", "doBackOff"]), st.integers(1, 12), min_size=1)


def mutants_of(counted: dict[str, int]) -> tuple[Mutant, ...]:
    names = [name for name, number in sorted(counted.items()) for _ in range(number)]
    return tuple(
        Mutant(number=number, id=f"{name}-{number}", function=name, line=number, operator="drop", before="x", after="")
        for number, name in enumerate(names, start=1)
    )


@given(counts, st.integers(0, 40), st.integers(0, 5))
def test_a_larger_sample_continues_a_smaller_one(counted: dict[str, int], size: int, seed: int) -> None:
    mutants = mutants_of(counted)
    assert sample(reversed(mutants), None, seed)[:size] == sample(mutants, size, seed)


@given(counts, st.integers(0, 40), st.integers(0, 5))
def test_no_function_is_a_turn_ahead_of_one_that_has_mutants_left(
    counted: dict[str, int], size: int, seed: int
) -> None:
    taken = Counter(each.function for each in sample(mutants_of(counted), size, seed))
    left = [name for name, number in counted.items() if taken[name] < number]
    assert max(taken.values(), default=0) <= min((taken[name] + 1 for name in left), default=40)


@given(counts)
def test_all_means_every_mutant_once(counted: dict[str, int]) -> None:
    mutants = mutants_of(counted)
    assert sorted(each.number for each in sample(mutants, None, 0)) == [each.number for each in mutants]


def test_another_seed_takes_others() -> None:
    mutants = mutants_of({"Next": 100})
    assert sample(mutants, 5, 0) != sample(mutants, 5, 1)
