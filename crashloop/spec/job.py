"""The Job of a scenario, in the words of batch/v1: it makes pods, one or several at a time, until as many have succeeded."""

import msgspec

from crashloop.spec.policy import RestartPolicy

MOST_PODS = 8
"""A Job that may make more pods than this is refused: nothing floods the cluster."""


class Job(msgspec.Struct, frozen=True, kw_only=True, tag="job"):
    """Its activeDeadlineSeconds is the scenario's longest watch."""

    parallelism: int = 1
    """Pods at a time, each of which is to succeed (completions). Several are not replaced: their backoff_limit is 0."""
    backoff_limit: int = 6
    fails_on: tuple[int, ...] = ()
    """Exit codes with the action FailJob in podFailurePolicy; none: no podFailurePolicy."""


def fault_of_job(job: Job, policy: RestartPolicy) -> str | None:
    """Why a Job cannot carry out a pod with that restart policy in a scenario; None if it can."""
    if policy is RestartPolicy.ALWAYS:
        return "a Job takes no pod with restart policy Always"
    if job.fails_on and policy is not RestartPolicy.NEVER:
        return f"a Job with podFailurePolicy takes no pod with restart policy {policy}"
    if not 1 <= job.parallelism <= MOST_PODS:
        return f"parallelism {job.parallelism} is none of 1 to {MOST_PODS}"
    if job.parallelism > 1 and (job.backoff_limit or policy is RestartPolicy.ON_FAILURE):
        return "a Job of several pods at a time takes policy Never and a backoff_limit of 0"
    if policy is RestartPolicy.NEVER and job.backoff_limit >= MOST_PODS:
        return f"backoff_limit {job.backoff_limit} lets the Job make more than {MOST_PODS} pods"
    return None
