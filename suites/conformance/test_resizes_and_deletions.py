"""A resize that requires a restart or does not, and the pod's deletion, with restart rules and without."""

from collections.abc import Iterator

import msgspec

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container, Pod, RestartRule, restart_in
from crashloop.spec.program import HOLDS, exits_with
from crashloop.spec.scenario import PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import NEVER, ON_FAILURE, QUICK_WATCH_S, app, at

TERMINATED = 143
RULES = {"with-rules": (restart_in(TERMINATED),), "without-rules": ()}
NEIGHBOURS = {
    "with-rules": (app(HOLDS, name="neighbour", policy=NEVER),),
    "without-rules": (app(exits_with(1, after_s=4.0, times=7), name="crashing"),),
}


def resized(name: str, rules: tuple[RestartRule, ...], *neighbours: Container) -> PodScenario:
    """A container that a resize of its CPU restarts once, beside another that is resized and runs on, or that crashes."""
    container = Container(program=HOLDS, restart_policy=ON_FAILURE, rules=rules, restarts_on_resize=True)
    crashing = {each.name: 7 for each in neighbours if each.program.exits}
    holding = [each for each in (container, *neighbours) if not each.program.exits]
    return PodScenario(
        name=f"resized-{name}",
        profile="max-2s",
        pod=Pod(containers=(container, *neighbours)),
        until=Until(restarts={"app": 1} | crashing, quiet_s=10, at_most_s=QUICK_WATCH_S),
        interventions=tuple(at(8, InterventionKind.RESIZE, container=each.name, cpu="20m") for each in holding),
    )


def deleted(name: str, rules: tuple[RestartRule, ...]) -> PodScenario:
    """A pod that is deleted, and watched for long enough to see that nothing starts again; with rules it has a preStop hook."""
    container = msgspec.structs.replace(app(HOLDS, policy=NEVER, rules=rules), pre_stop_s=1 if rules else 0)
    return PodScenario(
        name=f"deleted-{name}",
        profile="max-2s",
        pod=Pod(containers=(container,), restart_policy=NEVER),
        until=Until(at_least_s=76),
        interventions=(at(8, InterventionKind.DELETE_POD),),
    )


@requirement("RULES-19")
def test_rules_change_neither_a_resize_nor_a_deletion() -> Iterator[Scenario]:
    for name, rules in RULES.items():
        yield resized(name, rules, *NEIGHBOURS[name])
        yield deleted(name, rules)
