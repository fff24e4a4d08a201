"""The Job controller's treatment of restarts and of ended pods.

Theory of operation. Restarts in place are invisible to podFailurePolicy, which examines ended pods. backoffLimit counts ended
pods; under pod-level OnFailure it also counts every restart of every container of the living pods, which
RestartAllContainers multiplies by the number of containers. Only the pod-level restart policy counts.
Source: KEP-3329 and documentation, Handling Pod and container failures; KEP-5307, Design Details;
pkg/controller/job/job_controller.go@v1.37.1 pastBackoffLimitOnFailure, pod_failure_policy.go matchPodFailurePolicy.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from crashloop.spec.policy import Operator, RestartPolicy
from crashloop.spec.scenario import ContainerKind, Pod

DEFAULT_BACKOFF_LIMIT = 6


class FailureAction(StrEnum):
    """`podFailurePolicy.rules[].action`."""

    FAIL_JOB = "FailJob"
    FAIL_INDEX = "FailIndex"
    IGNORE = "Ignore"
    COUNT = "Count"


class FailureRule(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `podFailurePolicy.rules`: on exit codes, or on a pod condition that is True."""

    action: FailureAction
    operator: Operator = Operator.IN
    values: tuple[int, ...] = ()
    container: str | None = None
    """Only exits of this container; None for all."""
    condition: str | None = None
    """Type of the pod condition; then the exit codes do not matter."""

    def matches(self, exit_codes: Mapping[str, int], conditions: frozenset[str]) -> bool:
        if self.condition is not None:
            return self.condition in conditions
        return any(
            code != 0 and (code in self.values) == (self.operator is Operator.IN)
            for name, code in exit_codes.items()
            if self.container in (None, name)
        )


def pod_failure_policy_allowed(policy: str) -> bool:
    """Whether the API takes a podFailurePolicy with this restart policy of the pod template: `only "Never" is supported`.

    Source: pkg/apis/batch/validation/validation.go@v1.37.1 validateJobSpec.
    """
    return policy == RestartPolicy.NEVER


def failure_action(
    rules: Sequence[FailureRule],
    phase: str,
    exit_codes: Mapping[str, int],
    conditions: frozenset[str] = frozenset(),
) -> FailureAction | None:
    """What podFailurePolicy says about a pod; None while the pod has not failed, whatever its containers did before.

    `exit_codes` of terminated containers, by name.
    """
    if phase != "Failed":
        return None
    matching = (rule.action for rule in rules if rule.matches(exit_codes, conditions))
    return next(matching, FailureAction.COUNT)


def exceeds_backoff_limit(
    restart_policy: RestartPolicy,
    *,
    failed_pods: int,
    live_restart_counts: Sequence[int] = (),
    limit: int = DEFAULT_BACKOFF_LIMIT,
) -> bool:
    """Whether the Job fails with BackoffLimitExceeded.

    `restart_policy` is the pod template's own. `live_restart_counts` are the restartCounts of all init and regular
    containers of running and pending pods; they count under OnFailure only.
    """
    if failed_pods > limit:
        return True
    if restart_policy is not RestartPolicy.ON_FAILURE:
        return False
    restarts = sum(live_restart_counts)
    return restarts > 0 if limit == 0 else restarts >= limit


def can_complete(pod: Pod) -> bool:
    """Whether a Job with this pod template can ever complete: no regular container that is restarted after exit 0."""
    return not any(
        (each.restart_policy or pod.restart_policy) is RestartPolicy.ALWAYS
        for each in pod.of_kind(ContainerKind.REGULAR)
    )
