"""What a Job makes of restarts and of ended pods."""

import pytest

from crashloop.model.job import (
    FailureAction,
    FailureRule,
    can_complete,
    exceeds_backoff_limit,
    failure_action,
    pod_failure_policy_allowed,
)
from crashloop.spec.policy import Operator, RestartPolicy
from crashloop.spec.scenario import Container, ContainerKind, Pod

FAIL_ON_42 = FailureRule(action=FailureAction.FAIL_JOB, values=(42,))
IGNORE_77 = FailureRule(action=FailureAction.IGNORE, values=(77,))
IGNORE_DISRUPTION = FailureRule(action=FailureAction.IGNORE, condition="DisruptionTarget")


@pytest.mark.parametrize("phase", ["Pending", "Running", "Succeeded"])
def test_restarts_in_place_are_invisible_to_the_pod_failure_policy(phase: str) -> None:
    assert failure_action([FAIL_ON_42], phase, {"app": 42}) is None


@pytest.mark.parametrize(
    ("exit_codes", "conditions", "action"),
    [
        ({"app": 42}, frozenset(), FailureAction.FAIL_JOB),
        ({"app": 77}, frozenset(), FailureAction.IGNORE),
        ({"app": 77, "helper": 42}, frozenset(), FailureAction.FAIL_JOB),
        ({"app": 1}, frozenset(), FailureAction.COUNT),
        ({"app": 143}, frozenset({"DisruptionTarget"}), FailureAction.IGNORE),
    ],
    ids=["fail-job", "ignore", "first-rule-wins", "count", "condition"],
)
def test_an_ended_pod_is_judged_by_the_first_matching_rule(
    exit_codes: dict[str, int], conditions: frozenset[str], action: FailureAction
) -> None:
    assert failure_action([FAIL_ON_42, IGNORE_77, IGNORE_DISRUPTION], "Failed", exit_codes, conditions) is action


def test_exit_code_0_never_matches_and_a_rule_may_name_its_container() -> None:
    unless_1 = FailureRule(action=FailureAction.FAIL_JOB, operator=Operator.NOT_IN, values=(1,), container="app")
    assert failure_action([unless_1], "Failed", {"app": 0, "other": 2}) is FailureAction.COUNT
    assert failure_action([unless_1], "Failed", {"app": 2}) is FailureAction.FAIL_JOB


def test_under_never_only_failed_pods_count() -> None:
    never = RestartPolicy.NEVER
    assert not exceeds_backoff_limit(never, failed_pods=3, live_restart_counts=[100], limit=3)
    assert exceeds_backoff_limit(never, failed_pods=4, limit=3)


@pytest.mark.parametrize(
    ("restarts", "limit", "exceeded"),
    [([2], 3, False), ([3], 3, True), ([1, 1, 1], 3, True), ([0], 0, False), ([1], 0, True)],
    ids=["below", "reached", "summed", "zero-without", "zero-with"],
)
def test_under_on_failure_restarts_of_all_containers_count(restarts: list[int], limit: int, exceeded: bool) -> None:
    found = exceeds_backoff_limit(RestartPolicy.ON_FAILURE, failed_pods=0, live_restart_counts=restarts, limit=limit)
    assert found is exceeded


def test_one_restart_of_six_containers_uses_up_the_default_limit() -> None:
    assert exceeds_backoff_limit(RestartPolicy.ON_FAILURE, failed_pods=0, live_restart_counts=[1] * 6)


def test_only_the_pods_own_policy_allows_a_pod_failure_policy() -> None:
    assert pod_failure_policy_allowed("Never")
    assert not pod_failure_policy_allowed("OnFailure")


def test_a_job_with_an_always_container_never_completes() -> None:
    def job(policy: RestartPolicy | None, kind: ContainerKind = ContainerKind.REGULAR) -> Pod:
        own = Container(name="own", restart_policy=policy, kind=kind)
        return Pod(containers=(own, Container(name="main")), restart_policy=RestartPolicy.NEVER)

    assert not can_complete(job(RestartPolicy.ALWAYS))
    assert can_complete(job(RestartPolicy.ALWAYS, ContainerKind.INIT))
    assert can_complete(job(None))
