"""Deployments: what becomes of a pod whose containers end for good."""

from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.owner import Deployment
from crashloop.spec.pod import Pod
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import NEVER, app


@requirement("X-10")
def test_a_deployment_of_containers_that_end_makes_few_pods() -> Scenario:
    """In a cluster of its own: the flood goes with it."""
    return PodScenario(
        name="deployment-under-never",
        profile="max-2s",
        control_plane=ControlPlane(),
        pod=Pod(containers=(app(exits_with(1), policy=NEVER),)),
        owner=Deployment(),
        until=Until(at_least_s=34.0, at_most_s=45.0),
    )
