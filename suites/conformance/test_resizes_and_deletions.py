"""A resize that requires a restart or does not, and the pod's deletion, with restart rules and without."""

from collections.abc import Iterator

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container, Pod, RestartRule, restart_in
from crashloop.spec.program import HOLDS
from crashloop.spec.scenario import PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import NEVER, ON_FAILURE, app, at

TERMINATED = 143
RULES = {"with-rules": (restart_in(TERMINATED),), "without-rules": ()}
NEIGHBOURS = {"with-rules": (app(HOLDS, name="neighbour", policy=NEVER),), "without-rules": ()}


def resized(name: str, rules: tuple[RestartRule, ...], *neighbours: Container) -> PodScenario:
    """A container that a resize of its CPU restarts once, beside others that are resized as well and run on."""
    container = Container(program=HOLDS, restart_policy=ON_FAILURE, rules=rules, restarts_on_resize=True)
    containers = (container, *neighbours)
    return PodScenario(
        name=f"resized-{name}",
        profile="max-2s",
        pod=Pod(containers=containers),
        until=Until(restarts={"app": 1}, quiet_s=10, at_most_s=60),
        interventions=tuple(at(8, InterventionKind.RESIZE, container=each.name, cpu="20m") for each in containers),
    )


def deleted(name: str, rules: tuple[RestartRule, ...]) -> PodScenario:
    """A pod that is deleted, and watched for long enough to see that nothing starts again."""
    return PodScenario(
        name=f"deleted-{name}",
        profile="max-2s",
        pod=Pod(containers=(app(HOLDS, policy=NEVER, rules=rules),), restart_policy=NEVER),
        until=Until(at_least_s=76),
        interventions=(at(8, InterventionKind.DELETE_POD),),
    )


@requirement("RULES-19")
def test_rules_change_neither_a_resize_nor_a_deletion() -> Iterator[Scenario]:
    for name, rules in RULES.items():
        yield resized(name, rules, *NEIGHBOURS[name])
        yield deleted(name, rules)
