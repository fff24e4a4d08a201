"""Nodes whose kubelets do not know restart rules (KEP-5307, "Version Skew Strategy")."""

from collections.abc import Iterator

from crashloop.spec.pod import Pod
from crashloop.spec.program import HOLDS, runs
from crashloop.spec.scenario import PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import ON_FAILURE, QUICK_WATCH_S, QUIET_S, app, crashing

RULES_IGNORED = PodScenario(
    name="in-matches-rules-off",
    profile="rules-off",
    pod=the.IN_MATCHES.pod,
    until=Until(exits={"app": 1}, phase="Failed", quiet_s=QUIET_S, at_most_s=QUICK_WATCH_S),
)
SUCCEEDS_AT_LAST = PodScenario(
    name="on-failure-until-success-rules-off",
    profile="rules-off",
    pod=Pod(containers=(app(runs((1, 1), (1, 0))), app(HOLDS, name="neighbour")), restart_policy=ON_FAILURE),
    until=Until(exits={"app": 2}, quiet_s=84, at_most_s=150),
)


@requirement("SKEW-4")
def test_a_kubelet_without_restart_rules_follows_the_pod() -> Iterator[Scenario]:
    yield RULES_IGNORED
    yield crashing("rules-off", restarts=2)
    yield SUCCEEDS_AT_LAST


@requirement("SKEW-7")
def test_the_gates_have_the_states_of_the_release() -> Scenario:
    return the.STOCK


@requirement("SKEW-5")
def test_the_same_pod_restarts_on_one_node_and_fails_on_the_other() -> Iterator[Scenario]:
    yield the.IN_MATCHES
    yield RULES_IGNORED
