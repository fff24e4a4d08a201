"""Whether an exited container is restarted: every kind of container, policy, rule and gate."""

import pytest

from crashloop.model.after_restart import shown_exit_code
from crashloop.model.restart import Decided, Decision, decide
from crashloop.model.variants import NEVER_GETS_NO_SANDBOX, RESTART_ALL_HIDES_EXIT_CODE
from crashloop.spec.pod import Action, Container, ContainerKind, Pod, RestartPolicy, restart_in
from crashloop.spec.profile import RESTART_ALL_GATE, RESTART_RULES_GATE
from suites.selftest.kit.model_inputs import ALWAYS, NEVER, ON_FAILURE, V1_37, container, decided

RESTART, RESTART_ALL, STOP = Decision.RESTART, Decision.RESTART_ALL, Decision.STOP
ALL = Action.RESTART_ALL_CONTAINERS
RULES_OFF = {RESTART_RULES_GATE: False}
RESTART_ALL_OFF = {RESTART_ALL_GATE: False}


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


def test_the_previous_exit_is_shown_as_promised_and_137_by_the_kubelet() -> None:
    assert shown_exit_code(88) == 88
    assert shown_exit_code(88, frozenset({RESTART_ALL_HIDES_EXIT_CODE})) == 137


@pytest.mark.parametrize(("action", "due"), [(ALL, RESTART_ALL), (Action.RESTART, STOP)])
def test_a_restart_of_all_comes_before_the_question_whether_a_pod_gets_another_sandbox(
    action: Action, due: Decision
) -> None:
    app = Container(restart_policy=ALWAYS, rules=(restart_in(143, action=action),))
    pod = Pod(containers=(app,), restart_policy=NEVER)
    known = frozenset({NEVER_GETS_NO_SANDBOX})
    assert decide(pod, app, 143, gates={}, version=V1_37, sandbox_lost=True, deviations=known).decision is due


@pytest.mark.parametrize(
    ("killed", "pod_policy", "due"),
    [
        (True, ON_FAILURE, RESTART),
        (False, ON_FAILURE, STOP),
        (True, NEVER, STOP),
    ],
    ids=["ended with its sandbox", "failed before that", "in a pod under Never"],
)
def test_another_sandbox_runs_an_init_container_again_that_was_ended_with_the_one_before(
    killed: bool, pod_policy: RestartPolicy, due: Decision
) -> None:
    setup = Container(name="setup", kind=ContainerKind.INIT, restart_policy=NEVER)
    pod = Pod(containers=(setup, Container()), restart_policy=pod_policy)
    gates = {RESTART_RULES_GATE: True}
    assert decide(pod, setup, 143, gates=gates, version=V1_37, killed=killed, sandbox_lost=True).decision is due
