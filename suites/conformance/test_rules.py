"""Container restart policies and restart rules (gate ContainerRestartRules, KEP-5307)."""

from itertools import product

from crashloop.spec.policy import Action, RestartPolicy, restart_in, restart_not_in
from crashloop.spec.program import HOLDS, exits_with, runs
from crashloop.spec.scenario import PodScenario
from crashloop.verdict import Verdict
from fixtures.requirements import confirm, requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import ALWAYS, NEVER, ON_FAILURE, app, ending, init, restarting

IN_MATCHES = restarting(
    "in-matches",
    app(exits_with(42, times=4), policy=NEVER, rules=(restart_in(42),)),
    pod=NEVER,
    restarts={"app": 4},
)
IN_SEVERAL = restarting(
    "in-several-values",
    app(runs((1, 3), (1, 99), (1, 42)), policy=NEVER, rules=(restart_in(3, 42, 99),)),
    pod=NEVER,
    restarts={"app": 3},
)
IN_UNMATCHED = ending(
    "in-unmatched",
    app(runs((1, 43)), policy=NEVER, rules=(restart_in(42),)),
    pod=NEVER,
    exits={"app": 1},
    phase="Failed",
)
NOT_IN_MATCHES_THEN_NOT = ending(
    "not-in-matches-then-not",
    app(runs((1, 1), (1, 42)), policy=NEVER, rules=(restart_not_in(0, 42),)),
    pod=NEVER,
    exits={"app": 2},
    phase="Failed",
)
NOT_IN_EXIT_0 = ending(
    "not-in-exit-0",
    app(runs((1, 0)), policy=NEVER, rules=(restart_not_in(0, 42),)),
    pod=NEVER,
    exits={"app": 1},
    phase="Succeeded",
)
RESTART_BEFORE_ALL = restarting(
    "restart-before-restart-all",
    app(
        runs((2, 42)),
        policy=NEVER,
        rules=(restart_in(42), restart_in(42, action=Action.RESTART_ALL_CONTAINERS)),
    ),
    app(HOLDS, name="neighbour"),
    pod=NEVER,
    restarts={"app": 1},
)
RESTART_ALL_BEFORE = restarting(
    "restart-all-before-restart",
    app(
        runs((2, 42)),
        policy=NEVER,
        rules=(restart_in(42, action=Action.RESTART_ALL_CONTAINERS), restart_in(42)),
    ),
    app(HOLDS, name="neighbour"),
    pod=NEVER,
    restarts={"app": 1, "neighbour": 1},
)
CONTAINER_NEVER = ending(
    "container-never-under-always",
    app(runs((1, 1)), policy=NEVER, rules=(restart_in(42),)),
    pod=ALWAYS,
    exits={"app": 1},
    phase="Failed",
)
CONTAINER_ALWAYS = restarting(
    "container-always-under-never",
    app(runs((1, 1), (1, 0)), policy=ALWAYS, rules=(restart_in(42),)),
    pod=NEVER,
    restarts={"app": 2},
)
IN_EXIT_0 = restarting(
    "in-exit-0", app(exits_with(0, times=3), policy=NEVER, rules=(restart_in(0),)), pod=NEVER, restarts={"app": 3}
)
UNMATCHED_EXIT_0 = ending(
    "unmatched-exit-0",
    app(runs((1, 0)), policy=NEVER, rules=(restart_in(42),)),
    pod=NEVER,
    exits={"app": 1},
    phase="Succeeded",
)
ON_FAILURE_AND_EXIT_0 = restarting(
    "on-failure-and-exit-0",
    app(runs((1, 0), (1, 1), (1, 0)), policy=ON_FAILURE, rules=(restart_in(0),)),
    pod=NEVER,
    restarts={"app": 3},
)
ALWAYS_WITH_RULES = restarting(
    "always-with-rules",
    app(runs((1, 1), (1, 42), (1, 0)), policy=ALWAYS, rules=(restart_in(42),)),
    pod=ALWAYS,
    restarts={"app": 3},
)
INIT_UNTIL_SUCCESS = restarting(
    "init-rule-until-success",
    init(runs((1, 42), (1, 42), (1, 0)), policy=NEVER, rules=(restart_in(42),)),
    app(HOLDS),
    pod=NEVER,
    restarts={"setup": 2},
    phase="Running",
)
INIT_UNMATCHED = ending(
    "init-rule-unmatched",
    init(runs((1, 42), (1, 1)), policy=NEVER, rules=(restart_in(42),)),
    app(HOLDS),
    pod=ALWAYS,
    exits={"setup": 2},
    phase="Failed",
)
INIT_NOT_IN_0 = restarting(
    "init-not-in-0",
    init(runs((1, 1), (1, 2), (1, 3), (1, 0)), policy=NEVER, rules=(restart_not_in(0),)),
    app(HOLDS),
    pod=NEVER,
    restarts={"setup": 3},
    phase="Running",
)
ONE_FINISHED = ending(
    "one-finished-one-working",
    app(runs((1, 1)), name="keystone", policy=NEVER),
    app(runs((15, 0)), name="worker", policy=NEVER),
    pod=NEVER,
    exits={"keystone": 1, "worker": 1},
    phase="Failed",
)


def cell(pod: RestartPolicy, container: RestartPolicy | None, exit_code: int) -> PodScenario:
    """One combination of pod policy, container policy (none: the pod decides) and exit code."""
    decides = container or pod
    name = f"{pod.lower()}-{(container or 'unset').lower()}-exit-{exit_code}"
    if decides is ALWAYS or (decides is ON_FAILURE and exit_code):
        return restarting(name, app(exits_with(exit_code, times=2), policy=container), pod=pod, restarts={"app": 2})
    phase = "Failed" if exit_code else "Succeeded"
    return ending(name, app(runs((1, exit_code)), policy=container), pod=pod, exits={"app": 1}, phase=phase)


CELLS_WITHOUT_POLICY = [cell(pod, None, exit_code) for pod in RestartPolicy for exit_code in (0, 1)]
CELLS = [cell(*each) for each in product(RestartPolicy, RestartPolicy, (0, 1))]
RULE_RESTARTS = (IN_MATCHES, IN_SEVERAL, IN_EXIT_0, ON_FAILURE_AND_EXIT_0)


@requirement("RULES-1", *CELLS_WITHOUT_POLICY, scope="full")
def test_without_a_policy_of_its_own_a_container_follows_the_pod(verdict: Verdict) -> None:
    """A container without a restart policy of its own MUST follow the restart policy of the pod."""
    confirm(verdict)


@requirement("RULES-2", *CELLS, scope="full")
def test_a_container_policy_overrides_the_pod_policy(verdict: Verdict) -> None:
    """A container's restart policy MUST override the restart policy of the pod."""
    confirm(verdict)


@requirement("RULES-3", IN_MATCHES, IN_SEVERAL)
def test_an_exit_code_in_the_list_restarts_the_container(verdict: Verdict) -> None:
    """A container under Never whose exit code a rule with In lists MUST restart, and its pod MUST stay Running."""
    confirm(verdict)


@requirement("RULES-4", IN_UNMATCHED)
def test_an_exit_code_not_in_the_list_ends_the_pod(verdict: Verdict) -> None:
    """An exit code that no rule matches MUST NOT restart a container under Never; its pod becomes Failed."""
    confirm(verdict)


@requirement("RULES-5", NOT_IN_MATCHES_THEN_NOT, NOT_IN_EXIT_0)
def test_not_in_matches_every_other_exit_code(verdict: Verdict) -> None:
    """A rule with NotIn MUST match every exit code but those it lists."""
    confirm(verdict)


@requirement("RULES-6", RESTART_BEFORE_ALL, RESTART_ALL_BEFORE)
def test_the_first_matching_rule_decides(verdict: Verdict) -> None:
    """Rules MUST be tried in order; the action of the first that matches is taken."""
    confirm(verdict)


@requirement("RULES-7", CONTAINER_NEVER, CONTAINER_ALWAYS)
def test_without_a_match_the_container_policy_decides(verdict: Verdict) -> None:
    """Where no rule matches, the container's own restart policy MUST decide, not the pod's."""
    confirm(verdict)


@requirement("RULES-8", IN_EXIT_0, UNMATCHED_EXIT_0)
def test_a_rule_can_restart_a_container_that_succeeded(verdict: Verdict) -> None:
    """Under Never, exit 0 MUST restart the container if a rule matches it, and end the pod Succeeded if none does."""
    confirm(verdict)


@requirement("RULES-9", ON_FAILURE_AND_EXIT_0)
def test_on_failure_with_a_rule_for_exit_0_restarts_always(verdict: Verdict) -> None:
    """OnFailure with a rule for exit 0 MUST restart the container on every exit."""
    confirm(verdict)


@requirement("RULES-10", ALWAYS_WITH_RULES)
def test_rules_change_nothing_under_always(verdict: Verdict) -> None:
    """Under Always, rules MUST NOT change whether or when the container restarts."""
    confirm(verdict)


@requirement("RULES-11", the.SIDECAR_WITH_RULES, the.SIDECAR)
def test_rules_change_nothing_for_a_sidecar(verdict: Verdict) -> None:
    """Restart rules MUST NOT change how a sidecar is restarted."""
    confirm(verdict)


@requirement("RULES-12", INIT_UNTIL_SUCCESS)
def test_an_init_container_retries_by_rule_until_it_succeeds(verdict: Verdict) -> None:
    """An init container whose exit code a rule matches MUST restart, whatever the pod's policy, until it exits with 0."""
    confirm(verdict)


@requirement("RULES-13", INIT_UNMATCHED)
def test_an_init_container_that_no_rule_matches_fails_the_pod(verdict: Verdict) -> None:
    """An init container under Never that exits with an unmatched code MUST fail the pod, even one with policy Always."""
    confirm(verdict)


@requirement("RULES-14", INIT_NOT_IN_0)
def test_not_in_0_retries_an_init_container_until_success(verdict: Verdict) -> None:
    """NotIn [0] MUST retry an init container on every failure, and MUST let the pod go on after success."""
    confirm(verdict)


@requirement("RULES-15", *RULE_RESTARTS)
def test_restarts_by_rule_are_counted(verdict: Verdict) -> None:
    """restartCount MUST rise by one with each restart, also in a pod with the policy Never."""
    confirm(verdict)


@requirement("RULES-16", IN_MATCHES, IN_EXIT_0)
def test_restarts_by_rule_wait_like_any_other(verdict: Verdict) -> None:
    """Restarts by rule MUST follow the node's backoff curve."""
    confirm(verdict)


@requirement("RULES-17", *RULE_RESTARTS)
def test_a_restart_by_rule_stays_in_place(verdict: Verdict) -> None:
    """A restart by rule MUST keep the pod, its sandbox and its node."""
    confirm(verdict)


@requirement("RULES-20", ONE_FINISHED)
def test_a_pod_runs_on_while_one_of_its_containers_runs(verdict: Verdict) -> None:
    """A container that has finished for good MUST leave the pod Running while another runs; then the pod ends."""
    confirm(verdict)
