"""Crash loops without a control plane. Each has one for itself: nobody else could use it meanwhile."""

from crashloop.spec.control_plane import Component, ControlPlane
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Pod
from crashloop.spec.program import HOLDS, exits_with
from crashloop.spec.scenario import PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import app, at

AWAY_S = 90.0
CATCHES_UP_S = 50.0
"""How long the statuses are watched after that: longer than a slow API server may hold them up."""


def without(component: str, name: str) -> PodScenario:
    """A crash loop during which a component of the control plane is away for 90 s."""
    return PodScenario(
        name=name,
        profile="max-2s",
        control_plane=ControlPlane(),
        pod=Pod(containers=(app(exits_with(1, times=60)),)),
        until=Until(restarts={"app": 15}, at_least_s=10.0 + AWAY_S + CATCHES_UP_S, at_most_s=240.0),
        interventions=(
            at(10.0, InterventionKind.STOP_COMPONENT, component=component),
            at(10.0 + AWAY_S, InterventionKind.START_COMPONENT, component=component),
        ),
    )


@requirement("FAULT-1")
def test_containers_restart_without_the_api_server() -> Scenario:
    return without(Component.API_SERVER.value, "api-server-away")


@requirement("FAULT-2")
def test_containers_restart_without_etcd() -> Scenario:
    return without(Component.ETCD.value, "etcd-away")


@requirement("FAULT-3")
def test_a_node_that_is_cut_off_kills_nothing_for_a_deletion_that_it_cannot_know() -> Scenario:
    return PodScenario(
        name="cut-off-node",
        profile="max-2s",
        control_plane=ControlPlane(),
        pod=Pod(containers=(app(HOLDS),)),
        until=Until(exits={"app": 1}, quiet_s=5.0, at_most_s=240.0),
        interventions=(
            at(10.0, InterventionKind.CUT_OFF_NODE),
            at(15.0, InterventionKind.DELETE_POD, wait=False),
            at(60.0, InterventionKind.CONNECT_NODE),
        ),
    )
