"""The simulated ReplicaSet controller replaces every pod that has ended, at once."""

from random import Random

import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.owner import Deployment
from crashloop.spec.pod import Container, Pod, RestartPolicy
from crashloop.spec.program import HOLDS, Program, exits_with
from crashloop.spec.scenario import PodScenario, Until
from sim import Fault, simulate
from sim.faults import JobFault, behaviour_of
from suites.selftest.kit import sim_kit as sim


def pods(program: Program, *faults: Fault) -> int:
    """How many a Deployment makes within a minute."""
    scenario = PodScenario(
        name="scenario",
        profile="profile",
        control_plane=ControlPlane(),
        pod=Pod(containers=(Container(program=program, restart_policy=RestartPolicy.NEVER),)),
        until=Until(at_least_s=60, at_most_s=61),
        owner=Deployment(),
    )
    events = simulate(scenario, sim.profile("2s"), sim.V1_37, rng=Random(1), behaviour=behaviour_of(faults))
    return len({event.pod_uid for event in sim.of(events, Channel.API, Kind.CREATED)})


def test_a_pod_that_runs_is_kept() -> None:
    assert pods(HOLDS) == 1


@pytest.mark.parametrize(
    ("faults", "least", "most"),
    [
        ((), 15, 60),
        ((JobFault.REPLICAS_SPACED,), 3, 4),
        ((JobFault.REPLICAS_NOT_REPLACED,), 1, 1),
        ((JobFault.REPLICAS_DOUBLED,), 30, 120),
    ],
    ids=["right", "spaced", "not-replaced", "doubled"],
)
def test_pods_that_end_are_replaced(faults: tuple[Fault, ...], least: int, most: int) -> None:
    assert least <= pods(exits_with(1), *faults) <= most
