"""Nodes whose kubelets do not know restart rules, or RestartAllContainers (KEP-5307 and KEP-5532, "Version Skew Strategy")."""

from collections.abc import Iterator

from crashloop.spec.pod import Action, Container, Pod, restart_in
from crashloop.spec.program import HOLDS, exits_with, runs
from crashloop.spec.scenario import PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import ON_FAILURE, QUICK_WATCH_S, QUIET_S, app, crashing


def by_rule(action: Action) -> Container:
    """A container that fails twice, with a rule for its exit code."""
    return app(exits_with(42, times=2), policy=ON_FAILURE, rules=(restart_in(42, action=action),))


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
WITHOUT_THE_ACTION = PodScenario(
    name="restart-all-not-needed",
    profile="restart-all-off",
    pod=Pod(containers=(by_rule(Action.RESTART),), restart_policy=ON_FAILURE),
    until=Until(restarts={"app": 2}, at_most_s=QUICK_WATCH_S),
    by_scheduler=True,
)
"""A pod that needs nothing that the node does not declare."""


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


@requirement("RAC-13")
def test_the_scheduler_looks_at_what_nodes_declare() -> Iterator[Scenario]:
    yield WITHOUT_THE_ACTION
    yield PodScenario(
        name="restart-all-unplaced",
        profile="restart-all-off",
        pod=Pod(containers=(by_rule(Action.RESTART_ALL_CONTAINERS),), restart_policy=ON_FAILURE),
        until=Until(at_least_s=30.0, at_most_s=45.0),
        by_scheduler=True,
    )


@requirement("RAC-16")
def test_a_kubelet_without_restart_all_containers_ignores_the_action() -> Iterator[Scenario]:
    yield WITHOUT_THE_ACTION
    yield PodScenario(
        name="restart-all-without-its-gate",
        profile="restart-all-off",
        pod=Pod(
            containers=(by_rule(Action.RESTART_ALL_CONTAINERS), app(HOLDS, name="steady")), restart_policy=ON_FAILURE
        ),
        until=Until(restarts={"app": 2}, at_most_s=60.0),
    )
