"""When a restart rule matches: by any of its rules, on exit 0, after a long life (gate ContainerRestartRules, KEP-5307)."""

from collections.abc import Iterator

from crashloop.spec.pod import Pod, restart_in, restart_not_in
from crashloop.spec.program import exits_with, runs
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import NEVER, app, restarting

SECOND_RULE = restarting(
    "second-rule-matches",
    app(runs((1, 42), (1, 3), (1, 42)), policy=NEVER, rules=(restart_in(99, 3), restart_in(42))),
    pod=NEVER,
    restarts={"app": 3},
)
NOT_IN_WITHOUT_0 = restarting(
    "not-in-without-0",
    app(runs((1, 0), (1, 1), (1, 137), (1, 255)), policy=NEVER, rules=(restart_not_in(42),)),
    pod=NEVER,
    restarts={"app": 4},
)
NOT_IN_BEFORE_IN = restarting(
    "not-in-before-in",
    app(runs((1, 143), (1, 42)), policy=NEVER, rules=(restart_not_in(42, 143), restart_not_in(42), restart_in(42))),
    pod=NEVER,
    restarts={"app": 2},
)
LONG_LIFE = restarting(
    "long-life-matches",
    app(runs((1, 42), (61, 42), (1, 42)), policy=NEVER, rules=(restart_in(42),)),
    pod=NEVER,
    restarts={"app": 3},
)

MOST_RULES, MOST_TIMES = 20, 14
"""As many rules as the API takes for a container, and more restarts than a small counter takes."""
LAST_OF_MANY = PodScenario(
    name="last-of-many-rules-matches-max-1s",
    profile="max-1s",
    pod=Pod(
        containers=(
            app(
                exits_with(42, after_s=0.5, times=MOST_TIMES),
                policy=NEVER,
                rules=(*(restart_in(100 + number) for number in range(MOST_RULES - 1)), restart_in(*range(11, 43))),
            ),
        ),
        restart_policy=NEVER,
    ),
    until=Until(restarts={"app": MOST_TIMES}),
    mode=Mode.ANNOTATED,
)
"""The last of many rules, by the last of its exit codes, again and again."""


@requirement("RULES-3")
def test_each_rule_can_restart_the_container_however_long_it_ran() -> Iterator[Scenario]:
    yield SECOND_RULE
    yield LONG_LIFE
    yield LAST_OF_MANY


@requirement("RULES-5")
def test_not_in_matches_what_it_does_not_list() -> Iterator[Scenario]:
    """Exit 0 and the code of a signal as well."""
    yield NOT_IN_WITHOUT_0
    yield NOT_IN_BEFORE_IN


@requirement("RULES-6")
def test_a_rule_that_does_not_match_leaves_the_decision_to_the_next() -> Iterator[Scenario]:
    yield SECOND_RULE
    yield NOT_IN_BEFORE_IN


@requirement("RULES-8")
def test_not_in_can_restart_a_container_that_succeeded() -> Scenario:
    return NOT_IN_WITHOUT_0


@requirement("RULES-16")
def test_a_restart_by_rule_waits_after_a_long_life_and_after_many_restarts() -> Iterator[Scenario]:
    yield LONG_LIFE
    yield LAST_OF_MANY
