"""Running containers whose records the runtime loses."""

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Pod
from crashloop.spec.program import HOLDS
from crashloop.spec.scenario import PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import app, at


@requirement("RULES-20")
def test_a_pod_runs_on_when_the_runtime_has_lost_its_container() -> Scenario:
    """Watched for longer than quick has, since only other runtimes and accidents lose records."""
    return PodScenario(
        name="record-lost",
        profile="max-2s",
        pod=Pod(containers=(app(HOLDS),)),
        until=Until(restarts={"app": 1}, quiet_s=10, at_most_s=120),
        interventions=(at(12, InterventionKind.REMOVE_CONTAINER, container="app"),),
    )
