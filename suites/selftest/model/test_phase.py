"""The phase of a pod, from the states of its containers."""

import pytest

from crashloop.model.pod_status import IS_RUNNING, NEVER_STARTED, KnownState, StateKind, phase, terminated
from crashloop.model.variants import DOCUMENTED, RESTART_ALL_STAYS_RUNNING, RULES_MATCH_KILLS
from crashloop.spec.pod import Action, Container, ContainerKind, Pod, RestartPolicy, RestartRule, restart_in
from crashloop.spec.profile import RESTART_RULES_GATE
from crashloop.spec.version import KubernetesVersion

V1_37 = KubernetesVersion(1, 37)
ALWAYS, ON_FAILURE, NEVER = RestartPolicy.ALWAYS, RestartPolicy.ON_FAILURE, RestartPolicy.NEVER
RULES_OFF = {RESTART_RULES_GATE: False}
RETRY_42 = restart_in(42)
RESET_88 = restart_in(88, action=Action.RESTART_ALL_CONTAINERS)


def backing_off(exit_code: int) -> KnownState:
    return KnownState(kind=StateKind.WAITING, last_exit_code=exit_code)


def being_reset() -> KnownState:
    return KnownState(kind=StateKind.WAITING, last_exit_code=137, being_reset=True)


def app(name: str, policy: RestartPolicy | None = None, *rules: RestartRule) -> Container:
    return Container(name=name, restart_policy=policy, rules=rules)


def init(name: str, policy: RestartPolicy | None = None, *rules: RestartRule) -> Container:
    return Container(name=name, kind=ContainerKind.INIT, restart_policy=policy, rules=rules)


def phase_of(
    pod_policy: RestartPolicy,
    *pairs: tuple[Container, KnownState],
    gates: dict[str, bool] | None = None,
    initialized: bool = False,
    deviations: frozenset[str] = DOCUMENTED,
) -> str:
    pod = Pod(containers=tuple(each for each, _ in pairs), restart_policy=pod_policy)
    states = {each.name: state for each, state in pairs}
    return phase(pod, states, gates=gates or {}, version=V1_37, initialized=initialized, deviations=deviations)


ONE_CONTAINER = [
    # pod, container, state, phase
    (ALWAYS, None, NEVER_STARTED, "Pending"),
    (ALWAYS, None, IS_RUNNING, "Running"),
    (ALWAYS, None, terminated(0), "Running"),
    (ALWAYS, None, backing_off(1), "Running"),
    (ON_FAILURE, None, terminated(0), "Succeeded"),
    (ON_FAILURE, None, terminated(1), "Running"),
    (NEVER, None, terminated(0), "Succeeded"),
    (NEVER, None, terminated(1), "Failed"),
    (ALWAYS, NEVER, terminated(1), "Failed"),
    (ALWAYS, NEVER, terminated(0), "Succeeded"),
    (ALWAYS, ON_FAILURE, terminated(0), "Succeeded"),
    (NEVER, ALWAYS, terminated(0), "Running"),
    (NEVER, ON_FAILURE, backing_off(1), "Running"),
]


@pytest.mark.parametrize(
    ("pod_policy", "policy", "state", "expected"), ONE_CONTAINER, ids=[str(n) for n in "abcdefghijklm"]
)
def test_one_containers_state_and_policy_give_the_phase(
    pod_policy: RestartPolicy, policy: RestartPolicy | None, state: KnownState, expected: str
) -> None:
    assert phase_of(pod_policy, (app("one", policy), state)) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (terminated(1), IS_RUNNING, "Running"),
        (terminated(1), terminated(0), "Failed"),
        (terminated(0), terminated(0), "Succeeded"),
        (terminated(1), NEVER_STARTED, "Pending"),
    ],
    ids=["failed-beside-running", "failed-beside-done", "all-done", "failed-beside-never-started"],
)
def test_a_pod_ends_with_the_last_of_its_containers(first: KnownState, second: KnownState, expected: str) -> None:
    assert phase_of(NEVER, (app("first"), first), (app("second"), second)) == expected


def test_one_container_that_will_be_restarted_keeps_the_pod_running() -> None:
    assert phase_of(NEVER, (app("a", NEVER, RETRY_42), terminated(42)), (app("b"), terminated(1))) == "Running"
    assert phase_of(NEVER, (app("a", NEVER, RETRY_42), terminated(43)), (app("b"), terminated(0))) == "Failed"


def test_without_the_rules_gate_only_the_pods_policy_counts() -> None:
    assert phase_of(NEVER, (app("a", ALWAYS), terminated(1)), gates=RULES_OFF) == "Failed"
    assert phase_of(ALWAYS, (app("a", NEVER), terminated(1)), gates=RULES_OFF) == "Running"


@pytest.mark.parametrize(
    ("pod_policy", "container", "state", "expected"),
    [
        (ALWAYS, init("init", NEVER), terminated(1), "Failed"),
        (ALWAYS, init("init", NEVER, RETRY_42), backing_off(42), "Pending"),
        (ALWAYS, init("init", NEVER, RETRY_42), terminated(1), "Failed"),
        (NEVER, init("init"), terminated(1), "Failed"),
        (NEVER, init("init", ON_FAILURE), terminated(1), "Pending"),
        (ALWAYS, init("init"), terminated(1), "Pending"),
        (ALWAYS, init("init"), terminated(0), "Pending"),
        (ALWAYS, init("init"), IS_RUNNING, "Pending"),
        (ALWAYS, init("init"), NEVER_STARTED, "Pending"),
    ],
    ids=[
        "failed-under-always",
        "retried-by-rule",
        "not-matched",
        "failed-under-never",
        "retried-by-own-policy",
        "retried",
        "done",
        "running",
        "never-started",
    ],
)
def test_a_pod_whose_init_container_is_not_done_is_pending_or_failed(
    pod_policy: RestartPolicy, container: Container, state: KnownState, expected: str
) -> None:
    assert phase_of(pod_policy, (container, state), (app("main"), NEVER_STARTED)) == expected


def test_an_init_container_that_runs_again_makes_the_pod_pending() -> None:
    assert phase_of(ALWAYS, (init("init"), IS_RUNNING), (app("main"), IS_RUNNING)) == "Pending"


def test_sidecars_do_not_count_once_they_stop() -> None:
    sidecar = init("sidecar", ALWAYS)
    assert phase_of(NEVER, (sidecar, terminated(1)), (app("main"), terminated(0))) == "Succeeded"
    assert phase_of(NEVER, (sidecar, terminated(0)), (app("main"), terminated(1))) == "Failed"
    assert phase_of(NEVER, (sidecar, IS_RUNNING), (app("main"), terminated(0))) == "Running"


def test_a_sidecar_that_has_not_started_up_holds_up_initialization_only() -> None:
    sidecar = init("sidecar", ALWAYS)
    starting = KnownState(kind=StateKind.RUNNING, started=False)
    assert phase_of(ALWAYS, (sidecar, starting), (app("main"), IS_RUNNING)) == "Pending"
    assert phase_of(ALWAYS, (sidecar, starting), (app("main"), IS_RUNNING), initialized=True) == "Running"
    assert phase_of(ALWAYS, (sidecar, NEVER_STARTED), (app("main"), NEVER_STARTED)) == "Pending"


def test_while_all_containers_restart_the_pod_is_pending_as_documented_and_running_in_the_kubelet() -> None:
    pairs = (app("source", NEVER, RESET_88), being_reset()), (app("other"), being_reset())
    assert phase_of(NEVER, *pairs) == "Pending"
    shipped = frozenset({RESTART_ALL_STAYS_RUNNING})
    assert phase_of(NEVER, *pairs, deviations=shipped) == "Running"
    rerun = (init("init"), IS_RUNNING), *pairs
    assert phase_of(NEVER, *rerun, deviations=shipped) == "Pending"
    sidecar = init("sidecar", ALWAYS)
    starting = (sidecar, KnownState(kind=StateKind.RUNNING, started=False)), *pairs
    assert phase_of(NEVER, *starting, deviations=shipped) == "Pending"
    assert phase_of(NEVER, (sidecar, IS_RUNNING), *pairs, deviations=shipped) == "Running"


def test_a_kill_that_rules_match_leaves_the_pod_running_in_the_kubelet() -> None:
    killed = KnownState(kind=StateKind.TERMINATED, last_exit_code=143, killed=True)
    pair = app("app", NEVER, restart_in(143)), killed
    assert phase_of(NEVER, pair) == "Failed"
    assert phase_of(NEVER, pair, deviations=frozenset({RULES_MATCH_KILLS})) == "Running"
