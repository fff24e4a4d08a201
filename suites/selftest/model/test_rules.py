"""Restart rules: which one decides, and what they are not asked about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.model.restart import Decided, Decision
from crashloop.model.variants import RULE_HIDES_LATER_RULES, RULES_MATCH_KILLS
from crashloop.spec.pod import Action, ContainerKind, Operator, RestartPolicy, RestartRule, restart_in, restart_not_in
from crashloop.spec.profile import RESTART_RULES_GATE
from suites.selftest.kit.model_inputs import (
    ALWAYS,
    NEVER,
    ON_FAILURE,
    V1_35,
    V1_37,
    container,
    decided,
)

RESTART, RESTART_ALL, STOP = Decision.RESTART, Decision.RESTART_ALL, Decision.STOP
ALL = Action.RESTART_ALL_CONTAINERS
RULES_OFF = {RESTART_RULES_GATE: False}


def test_the_first_matching_rule_wins() -> None:
    assert decided(container(NEVER, restart_in(42), restart_in(42, action=ALL)), 42).decision is RESTART
    assert decided(container(NEVER, restart_in(42, action=ALL), restart_in(42)), 42).decision is RESTART_ALL


def test_a_restart_rule_on_a_sidecar_hides_later_rules_though_it_does_nothing() -> None:
    sidecar = container(ALWAYS, restart_in(1), restart_in(1, action=ALL), kind=ContainerKind.INIT)
    assert decided(sidecar, 1).decision is RESTART


def test_without_its_gate_a_restart_all_rule_is_skipped_as_documented_and_hides_later_ones_in_the_kubelet() -> None:
    both = container(NEVER, restart_in(42, action=ALL), restart_in(42))
    assert decided(both, 42, version=V1_35).decision is RESTART
    hiding = frozenset({RULE_HIDES_LATER_RULES})
    assert decided(both, 42, version=V1_35, deviations=hiding).decision is STOP
    assert decided(both, 42, version=V1_37, deviations=hiding).decision is RESTART_ALL


@pytest.mark.parametrize(
    ("policy", "exit_code", "decision"),
    [
        (ALWAYS, 0, RESTART),
        (ON_FAILURE, 0, RESTART),
        (ON_FAILURE, 143, RESTART),
        (NEVER, 143, STOP),
    ],
    ids=["always", "clean-exit-on-term", "on-failure", "never"],
)
def test_a_failed_probe_is_a_failure_to_the_policy(policy: RestartPolicy, exit_code: int, decision: Decision) -> None:
    assert decided(container(), exit_code, policy, killed=True).decision is decision
    assert decided(container(policy), exit_code, killed=True).decision is decision


def test_rules_are_for_exits_of_the_containers_own() -> None:
    never = container(NEVER, restart_in(137, 143))
    assert decided(never, 143, killed=True) == Decided(STOP, "container restart policy Never decides after a kill")
    matching = frozenset({RULES_MATCH_KILLS})
    assert decided(never, 143, killed=True, deviations=matching).decision is RESTART
    assert decided(never, 143, killed=True, gates=RULES_OFF, deviations=matching).decision is RESTART


@pytest.mark.parametrize(
    ("rule", "matching", "others"),
    [
        (restart_in(42, 43), [42, 43], [0, 1, 44]),
        (restart_not_in(0, 42), [1, 43, 137], [0, 42]),
        (restart_in(), [], [0, 1, 255]),
        (restart_not_in(), [0, 1, 255], []),
        (restart_in(256, -1), [], [0, 1, 255]),
    ],
    ids=["in", "not-in", "in-nothing", "not-in-nothing", "impossible-codes"],
)
def test_operators_match_as_they_say(rule: RestartRule, matching: list[int], others: list[int]) -> None:
    case = container(NEVER, rule)
    assert [decided(case, code).decision for code in matching] == [RESTART] * len(matching)
    assert [decided(case, code).decision for code in others] == [STOP] * len(others)


POLICIES = st.sampled_from(RestartPolicy)
CODES = st.integers(min_value=0, max_value=255)
RULES = st.builds(
    lambda action, operator, values: RestartRule(action=action, operator=operator, values=tuple(values)),
    st.sampled_from(Action),
    st.sampled_from(Operator),
    st.lists(CODES, max_size=3),
)


@given(
    pod_policy=POLICIES,
    policy=st.none() | POLICIES,
    rules=st.lists(RULES, max_size=4),
    exit_code=CODES,
    killed=st.booleans(),
)
def test_without_the_gate_only_the_pods_policy_counts(
    pod_policy: RestartPolicy, policy: RestartPolicy | None, rules: list[RestartRule], exit_code: int, killed: bool
) -> None:
    ruled = decided(container(policy, *rules), exit_code, pod_policy, gates=RULES_OFF, killed=killed)
    assert ruled == decided(container(), exit_code, pod_policy, gates=RULES_OFF, killed=killed)


@given(pod_policy=POLICIES, policy=POLICIES, rules=st.lists(RULES, max_size=4), exit_code=CODES)
def test_a_containers_policy_makes_the_pods_irrelevant(
    pod_policy: RestartPolicy, policy: RestartPolicy, rules: list[RestartRule], exit_code: int
) -> None:
    case = container(policy, *rules)
    assert decided(case, exit_code, pod_policy) == decided(case, exit_code, ALWAYS)


@given(policy=POLICIES, rules=st.lists(RULES, max_size=4), exit_code=CODES, later=RULES)
def test_rules_after_a_match_change_nothing(
    policy: RestartPolicy, rules: list[RestartRule], exit_code: int, later: RestartRule
) -> None:
    if any(rule.matches(exit_code) for rule in rules):
        case, longer = container(policy, *rules), container(policy, *rules, later)
        assert decided(case, exit_code) == decided(longer, exit_code)


@given(pod_policy=POLICIES, policy=POLICIES, exit_code=CODES, values=st.lists(CODES, max_size=3))
def test_not_in_is_the_complement_of_in(
    pod_policy: RestartPolicy, policy: RestartPolicy, exit_code: int, values: list[int]
) -> None:
    named = decided(container(policy, restart_in(*values, action=ALL)), exit_code, pod_policy)
    others = decided(container(policy, restart_not_in(*values, action=ALL)), exit_code, pod_policy)
    assert {named.decision is RESTART_ALL, others.decision is RESTART_ALL} == {True, False}
