"""The simulated scheduler and kubelet compare what a pod needs with what a node declares."""

from random import Random
from typing import Any

import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.owner import Job
from crashloop.spec.pod import Action, Container, Pod, RestartPolicy, restart_in
from crashloop.spec.profile import RESTART_ALL_GATE, KubeletProfile
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, Until
from sim import Fault, simulate
from sim.faults import AdmissionFault, behaviour_of
from suites.selftest.kit import sim_kit as sim

WITH, WITHOUT = (KubeletProfile(name="node", config={"featureGates": {RESTART_ALL_GATE: on}}) for on in (True, False))
ALL, ONE = Action.RESTART_ALL_CONTAINERS, Action.RESTART


def last_status(action: Action, node: KubeletProfile, *faults: Fault, by_scheduler: bool = False) -> dict[str, Any]:
    """Of a pod with a rule of that action, after 15 s."""
    ruled = Container(restart_policy=RestartPolicy.NEVER, rules=(restart_in(42, action=action),))
    scenario = PodScenario(
        name="scenario",
        profile="node",
        pod=Pod(containers=(ruled,)),
        until=Until(at_least_s=15, at_most_s=16),
        by_scheduler=by_scheduler,
    )
    events = simulate(scenario, node, sim.V1_37, rng=Random(1), behaviour=behaviour_of(faults))
    status: dict[str, Any] = sim.of(events, Channel.API, Kind.STATUS)[-1].data["status"]
    return status


@pytest.mark.parametrize(
    ("action", "node", "faults", "phase"),
    [
        (ALL, WITH, (), "Running"),
        (ONE, WITHOUT, (), "Running"),
        (ALL, WITHOUT, (), "Failed"),
        (ALL, WITHOUT, (AdmissionFault.TAKES_ALL_PODS,), "Running"),
        (ONE, WITH, (AdmissionFault.REJECTS_RULES,), "Failed"),
    ],
)
def test_a_kubelet_rejects_what_it_does_not_have(
    action: Action, node: KubeletProfile, faults: tuple[Fault, ...], phase: str
) -> None:
    assert last_status(action, node, *faults)["phase"] == phase


@pytest.mark.parametrize(
    ("action", "node", "faults", "phase"),
    [
        (ALL, WITH, (), "Running"),
        (ONE, WITHOUT, (), "Running"),
        (ALL, WITHOUT, (), "Pending"),
        (ALL, WITHOUT, (AdmissionFault.SCHEDULER_IGNORES_FEATURES,), "Failed"),
        (ALL, WITHOUT, (AdmissionFault.SCHEDULER_GIVES_IN,), "Failed"),
        (ONE, WITH, (AdmissionFault.SCHEDULER_HOLDS_RULES,), "Pending"),
    ],
)
def test_a_scheduler_leaves_it_pending(
    action: Action, node: KubeletProfile, faults: tuple[Fault, ...], phase: str
) -> None:
    assert last_status(action, node, *faults, by_scheduler=True)["phase"] == phase


def test_a_job_whose_pods_are_rejected_fails_with_all_of_them() -> None:
    ruled = Container(program=exits_with(42), restart_policy=RestartPolicy.NEVER, rules=(restart_in(42),))
    scenario = PodScenario(
        name="scenario",
        profile="node",
        pod=Pod(containers=(ruled,), restart_policy=RestartPolicy.NEVER),
        until=Until(at_most_s=16),
        owner=Job(parallelism=8, backoff_limit=0),
    )
    wrong = behaviour_of([AdmissionFault.REJECTS_RULES])
    events = simulate(scenario, WITH, sim.V1_37, rng=Random(1), behaviour=wrong)
    assert sim.of(events, Channel.API, Kind.JOB)[-1].data["status"]["failed"] == 8
