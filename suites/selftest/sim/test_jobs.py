"""The simulated Job controller makes pods until one succeeds or its limit is reached.

The simulated ReplicaSet controller replaces every pod that has ended, at once.
"""

from itertools import pairwise
from random import Random
from typing import Any

import pytest

from crashloop.history.event import Channel, Event, Kind
from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.owner import Deployment, Job
from crashloop.spec.pod import Container, Pod, RestartPolicy
from crashloop.spec.program import HOLDS, Program, exits_with, runs
from crashloop.spec.scenario import PodScenario, Until
from sim import Fault, simulate
from sim.behaviour import S
from sim.faults import JobFault, behaviour_of
from suites.selftest.kit import sim_kit as sim

NEVER, ON_FAILURE = RestartPolicy.NEVER, RestartPolicy.ON_FAILURE


def played(job: Job, program: Program, policy: RestartPolicy, *faults: Fault) -> tuple[Event, ...]:
    pod = Pod(containers=(Container(program=program),), restart_policy=policy)
    scenario = PodScenario(name="scenario", profile="profile", pod=pod, until=Until(at_most_s=60), owner=job)
    return simulate(scenario, sim.profile("2s"), sim.V1_37, rng=Random(1), behaviour=behaviour_of(faults))


def ended(events: tuple[Event, ...]) -> dict[str, Any]:
    """The last status of the Job."""
    status: dict[str, Any] = sim.of(events, Channel.API, Kind.JOB)[-1].data["status"]
    return status


def uids(events: tuple[Event, ...]) -> list[str]:
    return [event.pod_uid or "" for event in sim.of(events, Channel.API, Kind.CREATED)]


def test_each_failed_pod_is_replaced_after_a_wait_that_doubles() -> None:
    events = played(Job(backoff_limit=2), runs((1, 1)), NEVER)
    created = [event.t_ns for event in sim.of(events, Channel.API, Kind.CREATED)]
    assert len(set(uids(events))) == 3
    waits = [(later - earlier) / S for earlier, later in pairwise(created)]
    assert waits[0] > 11
    assert waits[1] > 21
    assert ended(events)["conditions"][0]["reason"] == "BackoffLimitExceeded"


def test_the_pod_whose_restarts_reach_the_limit_is_deleted() -> None:
    events = played(Job(backoff_limit=2), exits_with(1, times=2), ON_FAILURE)
    assert ended(events)["failed"] == 1
    assert len(sim.of(events, Channel.API, Kind.DELETED)) == 1
    marked = [event for event in sim.of(events, Channel.API, Kind.STATUS) if "deletion" in event.data]
    assert marked


def test_a_pod_that_succeeds_completes_the_job() -> None:
    events = played(Job(), runs((1, 1), (1, 0)), ON_FAILURE)
    assert ended(events)["conditions"][0]["type"] == "Complete"
    assert len(uids(events)) == 1


def test_a_controller_that_does_not_replace_pods_goes_on_for_ever() -> None:
    events = played(Job(backoff_limit=2), runs((1, 1)), NEVER, JobFault.JOB_NEVER_REPLACES)
    assert len(uids(events)) == 1
    assert "conditions" not in ended(events)


def test_pods_at_once_succeed_one_by_one() -> None:
    events = played(Job(parallelism=3, backoff_limit=0), runs((1, 0)), NEVER)
    assert len(set(uids(events))) == 3
    counts = [event.data["status"].get("succeeded", 0) for event in sim.of(events, Channel.API, Kind.JOB)]
    assert counts == sorted(counts)
    assert ended(events)["succeeded"] == 3


def test_pods_beside_one_that_fails_are_deleted() -> None:
    events = played(Job(parallelism=3, backoff_limit=0), exits_with(1, times=1), NEVER)
    assert ended(events)["failed"] == 3


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
