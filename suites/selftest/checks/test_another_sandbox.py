"""Another sandbox begins a pod anew: all init containers run there again, in their order, before anything else."""

from typing import cast

import pytest

from crashloop.requirements import load_requirements
from crashloop.restarts.lives import by_sandbox
from crashloop.spec.scenario import PodScenario
from crashloop.verdict import Outcome, Verdict
from sim.behaviour import CORRECT, Behaviour
from sim.faults.fault import Fault
from sim.faults.restart import DecisionFault
from suites.selftest.kit.fault_scenarios import trials
from tools.trials import NO_FAULT, VERSION, Trial, recordings_of, verdict_of, verdicts_on_every_pod

TRIALS = {
    (each.requirement.id, each.scenario.name): each
    for each in trials()
    if each.scenario.name.startswith("sandbox-killed-behind")
}


def verdict(trial: Trial, faults: frozenset[Fault] = NO_FAULT) -> Verdict:
    return verdict_of(trial.requirement, trial.scenario, *recordings_of(trial.scenario, faults), version=VERSION)


@pytest.mark.parametrize("trial", TRIALS.values(), ids=lambda each: f"{each.requirement.id}-{each.scenario.name}")
def test_a_right_kubelet_runs_the_init_containers_again(trial: Trial) -> None:
    assert verdict(trial).outcome is Outcome.PASS


def test_what_ran_is_told_apart_by_sandbox() -> None:
    trial = TRIALS["OVH-14", "sandbox-killed-behind-init"]
    (recording,) = recordings_of(trial.scenario)
    first, second = by_sandbox(recording.pods[0])
    names = ("setup", "second", "app")
    assert [len(first.ran(name)) for name in names] == [len(second.ran(name)) for name in names] == [1, 1, 1]
    assert first.since is None
    assert second.since is not None
    assert first.until_ns == second.since.utc_ns


@pytest.mark.parametrize(
    "fault",
    [DecisionFault.SANDBOX_BESIDE_INIT, DecisionFault.SANDBOX_FIRST_INIT_ONLY, DecisionFault.SANDBOX_WITHOUT_INIT],
)
def test_an_application_that_begins_without_its_init_containers_in_another_sandbox_is_a_fail(fault: Fault) -> None:
    found = verdict(TRIALS["OVH-14", "sandbox-killed-behind-init"], frozenset({fault}))
    assert found.outcome is Outcome.FAIL
    (finding,) = found.findings
    assert finding.startswith('OVH-14: "app" was created (history line')
    assert finding.endswith('before "second" was done.')


def of_statuses(behaviour: Behaviour) -> Verdict:
    """RULES-22 of the pod that has a sidecar and another init container."""
    scenario = cast("PodScenario", TRIALS["RULES-29", "sandbox-killed-behind-sidecar-and-init"].scenario)
    asked = {"RULES-22": load_requirements()["RULES-22"]}
    return verdicts_on_every_pod(asked, (scenario,), behaviour)["RULES-22"]


def test_a_hidden_exit_beside_a_count_that_begins_anew_is_known() -> None:
    found = of_statuses(CORRECT)
    assert found.deviation == "new-sandbox-hides-exits-of-init-containers"
    assert any('restartCount 0 of "setup" after 1 restart' in each for each in found.findings)


def test_that_no_restart_is_counted_is_not_known() -> None:
    found = of_statuses(Behaviour(count_up_to=0))
    assert (found.outcome, found.deviation) == (Outcome.FAIL, None)
    assert any('restartCount 0 of "sidecar" after 1 restart' in each for each in found.findings)
