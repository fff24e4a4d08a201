"""Container restart policies and restart rules (gate ContainerRestartRules, KEP-5307)."""

from collections.abc import Iterator
from itertools import product

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Action, Container, ContainerKind, Pod, RestartPolicy, restart_in, restart_not_in
from crashloop.spec.program import HOLDS, exits_with, runs
from crashloop.spec.scenario import PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import (
    ALWAYS,
    NEVER,
    ON_FAILURE,
    QUICK_WATCH_S,
    after_restart,
    app,
    ending,
    growing,
    init,
    restarting,
)

NOT_IN = ending(
    "not-in-matches-then-not",
    app(runs((1, 1), (1, 42)), policy=NEVER, rules=(restart_not_in(0, 42),)),
    pod=NEVER,
    exits={"app": 2},
    phase="Failed",
)
SIDECAR_WITH_RULES = restarting(
    "crashing-sidecar-with-rules",
    init(runs((1, 42), (1, 1), (1, 42), (1, 0)), name="sidecar", policy=ALWAYS, rules=(restart_in(42),)),
    app(HOLDS),
    pod=ON_FAILURE,
    restarts={"sidecar": 4},
)
INIT_UNTIL_SUCCESS = restarting(
    "init-rule-until-success",
    init(runs((1, 42), (1, 42), (1, 0)), policy=NEVER, rules=(restart_in(42),)),
    app(exits_with(1, times=2), policy=ALWAYS),
    pod=NEVER,
    restarts={"setup": 2, "app": 2},
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


def cell(pod: RestartPolicy, container: RestartPolicy | None, exit_code: int) -> PodScenario:
    """One combination of pod policy, container policy (none: the pod decides) and exit code."""
    decides = container or pod
    name = f"{pod.lower()}-{(container or 'unset').lower()}-exit-{exit_code}"
    if decides is ALWAYS or (decides is ON_FAILURE and exit_code):
        return restarting(name, app(exits_with(exit_code, times=2), policy=container), pod=pod, restarts={"app": 2})
    phase = "Failed" if exit_code else "Succeeded"
    return ending(name, app(runs((1, exit_code)), policy=container), pod=pod, exits={"app": 1}, phase=phase)


def stopping_init(pod: RestartPolicy, policy: RestartPolicy | None) -> Scenario:
    """An init container that fails and is not to restart."""
    name = f"{pod.lower()}-init-{(policy or 'unset').lower()}-fails"
    return ending(name, init(runs((1, 1)), policy=policy), app(HOLDS), pod=pod, exits={"setup": 1}, phase="Failed")


def retried_init(pod: RestartPolicy, policy: RestartPolicy | None) -> Scenario:
    """An init container that is to restart until it succeeds."""
    name = f"{pod.lower()}-init-{(policy or 'unset').lower()}-retried"
    container = init(runs((1, 1), (1, 1), (1, 0)), policy=policy)
    return restarting(name, container, app(HOLDS), pod=pod, restarts={"setup": 2}, phase="Running")


@requirement("RULES-1")
def test_without_a_policy_of_its_own_a_container_follows_the_pod() -> Iterator[Scenario]:
    for pod, exit_code in product(RestartPolicy, (0, 1)):
        yield cell(pod, None, exit_code)
    yield stopping_init(NEVER, None)
    yield retried_init(ON_FAILURE, None)


@requirement("RULES-2")
def test_a_container_policy_overrides_the_pod_policy() -> Iterator[Scenario]:
    for pod, container, exit_code in product(RestartPolicy, RestartPolicy, (0, 1)):
        yield cell(pod, container, exit_code)
    yield stopping_init(ALWAYS, NEVER)
    yield retried_init(NEVER, ON_FAILURE)


@requirement("RULES-3")
def test_an_exit_code_in_the_list_restarts_the_container() -> Iterator[Scenario]:
    yield the.IN_MATCHES
    yield the.IN_SEVERAL


@requirement("RULES-35")
def test_a_pod_with_a_restart_rule_is_run() -> Scenario:
    return the.IN_MATCHES


@requirement("RULES-4")
def test_an_exit_code_not_in_the_list_ends_the_pod() -> Scenario:
    """A code between those of the list is none of them."""
    unmatched = app(runs((1, 43)), policy=NEVER, rules=(restart_in(3, 42, 99),))
    return ending("in-unmatched", unmatched, pod=NEVER, exits={"app": 1}, phase="Failed")


@requirement("RULES-5")
def test_not_in_matches_every_other_exit_code() -> Iterator[Scenario]:
    yield NOT_IN
    yield ending(
        "not-in-exit-0",
        app(runs((1, 0)), policy=NEVER, rules=(restart_not_in(0, 42),)),
        pod=NEVER,
        exits={"app": 1},
        phase="Succeeded",
    )


@requirement("RULES-6")
def test_the_first_matching_rule_decides() -> Iterator[Scenario]:
    restart, restart_all = restart_in(42), restart_in(42, action=Action.RESTART_ALL_CONTAINERS)
    neighbour = app(HOLDS, name="neighbour")
    yield restarting(
        "restart-before-restart-all",
        app(runs((2, 42)), policy=NEVER, rules=(restart, restart_all)),
        neighbour,
        pod=NEVER,
        restarts={"app": 1},
    )
    yield restarting(
        "restart-all-before-restart",
        app(runs((2, 42)), policy=NEVER, rules=(restart_all, restart)),
        neighbour,
        pod=ON_FAILURE,
        restarts={"app": 1, "neighbour": 1},
    )


@requirement("RULES-7")
def test_without_a_match_the_container_policy_decides() -> Iterator[Scenario]:
    rules = (restart_in(42),)
    yield ending(
        "container-never-under-always",
        app(runs((1, 1)), policy=NEVER, rules=rules),
        pod=ALWAYS,
        exits={"app": 1},
        phase="Failed",
    )
    yield restarting(
        "container-always-under-on-failure",
        app(runs((1, 0), (1, 0)), policy=ALWAYS, rules=rules),
        pod=ON_FAILURE,
        restarts={"app": 2},
    )
    yield restarting(
        "container-always-under-never",
        app(runs((1, 1), (1, 0)), policy=ALWAYS, rules=rules),
        pod=NEVER,
        restarts={"app": 2},
    )


@requirement("RULES-8")
def test_a_rule_can_restart_a_container_that_succeeded() -> Iterator[Scenario]:
    yield the.IN_EXIT_0
    unmatched = app(runs((1, 0)), policy=ON_FAILURE, rules=(restart_in(42),))
    yield ending("unmatched-exit-0", unmatched, pod=NEVER, exits={"app": 1}, phase="Succeeded")


@requirement("RULES-9")
def test_on_failure_with_a_rule_for_exit_0_restarts_always() -> Scenario:
    return the.ON_FAILURE_AND_EXIT_0


@requirement("RULES-11")
def test_rules_change_nothing_for_a_sidecar() -> Iterator[Scenario]:
    yield SIDECAR_WITH_RULES
    yield the.SIDECAR


@requirement("RULES-12")
def test_an_init_container_retries_by_rule_until_it_succeeds() -> Scenario:
    """And no longer: restarts of the application do not run it again."""
    return INIT_UNTIL_SUCCESS


@requirement("RULES-13")
def test_an_init_container_that_no_rule_matches_fails_the_pod() -> Scenario:
    return INIT_UNMATCHED


@requirement("RULES-14")
def test_not_in_0_retries_an_init_container_until_success() -> Scenario:
    return INIT_NOT_IN_0


@requirement("RULES-15")
def test_restarts_by_rule_are_counted() -> Iterator[Scenario]:
    yield from the.EVERY_RULE


@requirement("RULES-16")
def test_restarts_by_rule_wait_like_any_other() -> Iterator[Scenario]:
    yield the.IN_MATCHES
    yield the.IN_EXIT_0
    by_rule = app(exits_with(42, times=4), policy=NEVER, rules=(restart_in(42),))
    yield growing("growing-by-rule", by_rule, pod=NEVER, restarts={"app": 4})


@requirement("RULES-17")
def test_a_restart_by_rule_stays_in_place() -> Iterator[Scenario]:
    yield from the.EVERY_RULE


@requirement("RULES-20")
def test_a_pod_runs_on_while_one_of_its_containers_runs() -> Iterator[Scenario]:
    """Neither a sidecar nor an ephemeral container keeps it running or decides how it ends."""
    yield the.FAILS_THEN_SUCCEEDS
    yield ending(
        "one-finished-one-working",
        app(runs((1, 1)), name="keystone", policy=NEVER),
        app(runs((15, 0)), name="worker", policy=NEVER),
        Container(name="debug", kind=ContainerKind.EPHEMERAL),
        pod=NEVER,
        exits={"keystone": 1, "worker": 1},
        phase="Failed",
    )


@requirement("RULES-20")
def test_what_has_succeeded_stays_so_on_a_node_that_it_could_not_run_on_any_more() -> Scenario:
    """kubernetes/kubernetes#126341."""
    return PodScenario(
        name="done-on-another-node",
        profile="stock",
        pod=Pod(containers=(app(runs((1, 0))),), restart_policy=NEVER),
        until=Until(phase="Succeeded", at_least_s=24.0, at_most_s=QUICK_WATCH_S),
        by_scheduler=True,
        interventions=(
            after_restart(0, InterventionKind.UNLABEL_NODE, after_s=4),
            after_restart(0, InterventionKind.RESTART_KUBELET, after_s=6),
        ),
    )
