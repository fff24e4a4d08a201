"""Whether an exited container is restarted: every kind of container, policy, rule and gate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.model.restart import Decided, Decision, decide
from crashloop.model.variants import DOCUMENTED, RULE_HIDES_LATER_RULES, RULES_MATCH_KILLS
from crashloop.spec.policy import Action, Operator, RestartPolicy, RestartRule, restart_in, restart_not_in
from crashloop.spec.profile import RESTART_ALL_GATE, RESTART_RULES_GATE
from crashloop.spec.scenario import Container, ContainerKind, Pod
from crashloop.spec.version import KubernetesVersion

V1_35, V1_37 = KubernetesVersion(1, 35), KubernetesVersion(1, 37)
ALWAYS, ON_FAILURE, NEVER = RestartPolicy.ALWAYS, RestartPolicy.ON_FAILURE, RestartPolicy.NEVER
RESTART, RESTART_ALL, STOP = Decision.RESTART, Decision.RESTART_ALL, Decision.STOP
ALL = Action.RESTART_ALL_CONTAINERS
RULES_OFF = {RESTART_RULES_GATE: False}
RESTART_ALL_OFF = {RESTART_ALL_GATE: False}


def decided(
    container: Container,
    exit_code: int,
    pod_policy: RestartPolicy = ALWAYS,
    *,
    gates: dict[str, bool] | None = None,
    version: KubernetesVersion = V1_37,
    killed: bool = False,
    deviations: frozenset[str] = DOCUMENTED,
) -> Decided:
    others = () if container.kind is ContainerKind.REGULAR else (Container(name="main"),)
    pod = Pod(containers=(container, *others), restart_policy=pod_policy)
    return decide(pod, container, exit_code, gates=gates or {}, version=version, killed=killed, deviations=deviations)


def container(
    policy: RestartPolicy | None = None, *rules: RestartRule, kind: ContainerKind = ContainerKind.REGULAR
) -> Container:
    return Container(kind=kind, restart_policy=policy, rules=rules)


# fmt: off
REGULAR = [
    # pod         container    exit 0        exit 1
    (ALWAYS,      None,        RESTART,      RESTART),
    (ON_FAILURE,  None,        STOP,         RESTART),
    (NEVER,       None,        STOP,         STOP),
    (ALWAYS,      ALWAYS,      RESTART,      RESTART),
    (ON_FAILURE,  ALWAYS,      RESTART,      RESTART),
    (NEVER,       ALWAYS,      RESTART,      RESTART),
    (ALWAYS,      ON_FAILURE,  STOP,         RESTART),
    (ON_FAILURE,  ON_FAILURE,  STOP,         RESTART),
    (NEVER,       ON_FAILURE,  STOP,         RESTART),
    (ALWAYS,      NEVER,       STOP,         STOP),
    (ON_FAILURE,  NEVER,       STOP,         STOP),
    (NEVER,       NEVER,       STOP,         STOP),
]
# fmt: on


@pytest.mark.parametrize(("pod_policy", "policy", "after_0", "after_1"), REGULAR, ids=str)
def test_a_containers_policy_replaces_the_pods(
    pod_policy: RestartPolicy, policy: RestartPolicy | None, after_0: Decision, after_1: Decision
) -> None:
    assert decided(container(policy), 0, pod_policy).decision is after_0
    assert decided(container(policy), 1, pod_policy).decision is after_1


@pytest.mark.parametrize("pod_policy", RestartPolicy)
@pytest.mark.parametrize("policy", RestartPolicy)
@pytest.mark.parametrize("exit_code", [0, 42])
def test_a_matching_rule_comes_before_both_policies(
    pod_policy: RestartPolicy, policy: RestartPolicy, exit_code: int
) -> None:
    restarting = container(policy, restart_in(0, 42))
    assert decided(restarting, exit_code, pod_policy).decision is RESTART
    resetting = container(policy, restart_in(0, 42, action=ALL))
    assert decided(resetting, exit_code, pod_policy).decision is RESTART_ALL


# fmt: off
INIT = [
    # pod         container    exit 0        exit 1
    (ALWAYS,      None,        STOP,         RESTART),
    (ON_FAILURE,  None,        STOP,         RESTART),
    (NEVER,       None,        STOP,         STOP),
    (NEVER,       ON_FAILURE,  STOP,         RESTART),
    (ALWAYS,      NEVER,       STOP,         STOP),
    (NEVER,       ALWAYS,      RESTART,      RESTART),  # a sidecar
]
# fmt: on


@pytest.mark.parametrize(("pod_policy", "policy", "after_0", "after_1"), INIT, ids=str)
def test_an_init_container_is_done_at_exit_0_and_a_sidecar_never(
    pod_policy: RestartPolicy, policy: RestartPolicy | None, after_0: Decision, after_1: Decision
) -> None:
    init = container(policy, kind=ContainerKind.INIT)
    assert decided(init, 0, pod_policy).decision is after_0
    assert decided(init, 1, pod_policy).decision is after_1


@pytest.mark.parametrize(
    ("case", "exit_code", "gates", "expected"),
    [
        (
            container(NEVER, restart_in(42)),
            42,
            {},
            Decided(RESTART, "restart rule Restart In [42] matches exit code 42"),
        ),
        (
            container(NEVER, restart_in(42)),
            43,
            {},
            Decided(STOP, "container restart policy Never decides after exit code 43"),
        ),
        (
            container(NEVER, restart_in(42)),
            42,
            RULES_OFF,
            Decided(RESTART, "pod restart policy Always decides after exit code 42"),
        ),
        (
            container(NEVER, restart_in(42, action=ALL)),
            42,
            RESTART_ALL_OFF,
            Decided(STOP, "container restart policy Never decides after exit code 42"),
        ),
        (
            container(None, restart_in(42)),
            0,
            {},
            Decided(RESTART, "pod restart policy Always decides after exit code 0"),
        ),
        (
            container(NEVER, restart_in(0), kind=ContainerKind.INIT),
            0,
            {},
            Decided(STOP, "an init container that exits 0 is done"),
        ),
        (
            container(NEVER, restart_in(0, action=ALL), kind=ContainerKind.INIT),
            0,
            {},
            Decided(RESTART_ALL, "restart rule RestartAllContainers In [0] matches exit code 0"),
        ),
        (
            container(ALWAYS, restart_in(1), kind=ContainerKind.INIT),
            1,
            {},
            Decided(RESTART, "a sidecar is always restarted"),
        ),
        (
            container(ALWAYS, restart_in(1, action=ALL), kind=ContainerKind.INIT),
            1,
            {},
            Decided(RESTART_ALL, "restart rule RestartAllContainers In [1] matches exit code 1"),
        ),
        (container(ALWAYS, kind=ContainerKind.INIT), 0, RULES_OFF, Decided(RESTART, "a sidecar is always restarted")),
        (container(kind=ContainerKind.EPHEMERAL), 1, {}, Decided(STOP, "ephemeral containers are never restarted")),
    ],
    ids=[
        "matched",
        "not-matched",
        "rules-off",
        "restart-all-off",
        "rules-without-policy",
        "init-done",
        "init-done-resets-all",
        "sidecar-ignores-restart",
        "sidecar-resets-all",
        "sidecar-without-rules-gate",
        "ephemeral",
    ],
)
def test_a_decision_names_the_step_that_led_to_it(
    case: Container, exit_code: int, gates: dict[str, bool], expected: Decided
) -> None:
    assert decided(case, exit_code, gates=gates) == expected


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
    assert decided(never, 143, killed=True) == Decided(
        STOP, "container restart policy Never decides after a failed probe"
    )
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
