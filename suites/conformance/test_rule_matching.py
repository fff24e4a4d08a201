"""When a restart rule matches: by any of its rules, on exit 0, after a long life (gate ContainerRestartRules, KEP-5307)."""

from crashloop.spec.policy import restart_in, restart_not_in
from crashloop.spec.program import runs
from crashloop.verdict import Verdict
from fixtures.requirements import confirm, requirement
from suites.conformance.scenarios import NEVER, app, restarting

SECOND_RULE = restarting(
    "second-rule-matches",
    app(runs((1, 42), (1, 3), (1, 42)), policy=NEVER, rules=(restart_in(3), restart_in(42))),
    pod=NEVER,
    restarts={"app": 3},
)
NOT_IN_WITHOUT_0 = restarting(
    "not-in-without-0",
    app(runs((1, 0), (1, 1)), policy=NEVER, rules=(restart_not_in(42),)),
    pod=NEVER,
    restarts={"app": 2},
)
LONG_LIFE = restarting(
    "long-life-matches",
    app(runs((1, 42), (10, 42), (1, 42)), policy=NEVER, rules=(restart_in(42),)),
    pod=NEVER,
    restarts={"app": 3},
)


@requirement("RULES-3", SECOND_RULE, LONG_LIFE)
def test_each_rule_can_restart_the_container_however_long_it_ran(verdict: Verdict) -> None:
    """A container under Never whose exit code some rule with In lists MUST restart, after a long life too."""
    confirm(verdict)


@requirement("RULES-5", NOT_IN_WITHOUT_0)
def test_not_in_matches_exit_0_unless_it_lists_it(verdict: Verdict) -> None:
    """A rule with NotIn that does not list 0 MUST match an exit with 0."""
    confirm(verdict)


@requirement("RULES-6", SECOND_RULE)
def test_a_rule_that_does_not_match_leaves_the_decision_to_the_next(verdict: Verdict) -> None:
    """The first rule that matches MUST decide, also where it is not the first of the list."""
    confirm(verdict)


@requirement("RULES-8", NOT_IN_WITHOUT_0)
def test_not_in_can_restart_a_container_that_succeeded(verdict: Verdict) -> None:
    """Under Never, exit 0 MUST restart the container if a rule with NotIn matches it."""
    confirm(verdict)


@requirement("RULES-16", LONG_LIFE)
def test_a_restart_by_rule_waits_after_a_long_life_too(verdict: Verdict) -> None:
    """A restart by rule after a life that outlasts the delay MUST follow the node's backoff curve."""
    confirm(verdict)
