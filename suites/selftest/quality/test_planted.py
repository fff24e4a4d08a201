"""The table of planted faults makes sense: it can be run, judged and reported."""

from pathlib import Path

import pytest

from crashloop.model.gates import effective_gates
from crashloop.profiles import load_profile, validate_for_node
from crashloop.requirements import load_requirements
from crashloop.settings import Versions
from crashloop.spec.plan import Budgets
from crashloop.spec.requirement import State, applies
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Outcome
from quality.executable import script
from quality.fault import Fault
from quality.planning import build_plan
from quality.planted import PLANTED, Planted
from quality.wrapper import ALL

ROOT = Path(__file__).parents[3]
VERSION = KubernetesVersion.parse(Versions().kubernetes)
PLAN = build_plan(
    PLANTED, kubernetes_version=str(VERSION), budgets=Budgets(), kubelet_of=lambda each: f"/{each.fault.name}"
)

every_fault = pytest.mark.parametrize("planted", PLANTED, ids=[each.fault.name for each in PLANTED])


def count(*outcomes: Outcome) -> int:
    return sum(each.expected.outcome in outcomes for each in PLANTED)


def test_there_are_faults_and_disturbances_enough() -> None:
    assert count(Outcome.FAIL) >= 10
    assert count(Outcome.INCONCLUSIVE, Outcome.ERROR) >= 3


def test_the_true_kubelet_runs_once_as_it_is_and_once_behind_the_helpers_of_the_faults() -> None:
    assert count(Outcome.PASS) == 2


def test_every_fault_is_planted_once_and_known_to_the_wrapper() -> None:
    assert sorted(each.fault.name for each in PLANTED) == sorted(ALL)


@every_fault
def test_every_judgement_is_one_that_the_catalogue_has_and_the_node_owes(planted: Planted) -> None:
    catalogue, gates = load_requirements(), effective_gates(load_profile(planted.declared), VERSION)
    judged = {requirement for trial in planted.trials for requirement in trial.judged_by}
    assert judged >= set(planted.expected.requirements)
    for requirement in judged:
        assert catalogue[requirement].state is State.JUDGED
        assert applies(catalogue[requirement], VERSION, gates) is None


@every_fault
def test_every_profile_is_one_that_a_node_can_claim(planted: Planted) -> None:
    profile = PLAN.profile(planted.profile)
    validate_for_node(profile, VERSION)
    assert profile.config == load_profile(planted.declared).config
    assert profile.kubelet_binary == f"/{planted.fault.name}"


def test_every_scenario_runs_on_the_node_of_its_profile_and_is_judged() -> None:
    profiles = {node.name: node.profile for node in PLAN.nodes}
    assert {name: profiles[node] for name, node in PLAN.placements.items()} == {
        scenario.name: scenario.node_profile for scenario in PLAN.scenarios if scenario.node_profile
    }
    assert {judgement.scenario for judgement in PLAN.judgements} == {scenario.name for scenario in PLAN.scenarios}


def test_what_is_watched_longest_is_launched_first() -> None:
    watches = [PLAN.scenario(name).longest_s for name in PLAN.placements]
    assert watches == sorted(watches, reverse=True)


def test_an_executable_quotes_what_a_shell_would_read() -> None:
    text = script(Fault(name="early", sentence="restarts too early"), Path("/my kubelets/kubelet"))
    first, comment, version, run = text.splitlines()
    assert first == "#!/bin/sh"
    assert comment == "# A kubelet that restarts too early: the real one with helpers around it."
    assert version == "[ \"$1\" != --version ] || exec '/my kubelets/kubelet' --version"
    assert run.startswith(f"PYTHONPATH={ROOT} exec ")
    assert run.endswith(" -m quality.wrapper --fault early -- '/my kubelets/kubelet' \"$@\"")


@every_fault
def test_the_document_tells_of_every_fault(planted: Planted) -> None:
    text = (ROOT / "docs" / "quality.md").read_text(encoding="utf-8")
    assert f"| {planted.fault.sentence} | {planted.expected.outcome} |" in text
