"""kube-state-metrics beside the statuses that it reads (capability state-metrics)."""

from crashloop.spec.pod import Pod
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from crashloop.spec.state_metrics import FAMILIES
from fixtures.requirements import requirement
from suites.conformance.scenarios import app


@requirement("SLO-8")
def test_kube_state_metrics_agrees_with_the_api_after_twenty_restarts() -> Scenario:
    return PodScenario(
        name="state-metrics-max-10s",
        profile="max-10s",
        pod=Pod(containers=(app(exits_with(3, after_s=0.5, times=25)),)),
        until=Until(exits={"app": 21}, quiet_s=4, at_most_s=420),
        mode=Mode.ANNOTATED,
        samples=FAMILIES,
    )
