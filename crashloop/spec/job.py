"""The Job of a scenario, in the words of batch/v1: it makes pods, one at a time, until one succeeds."""

import msgspec

from crashloop.spec.policy import RestartPolicy

MOST_PODS = 8
"""A Job that may make more pods than this is refused: nothing floods the cluster."""


class Job(msgspec.Struct, frozen=True, kw_only=True, tag="job"):
    """One completion and a parallelism of 1; activeDeadlineSeconds is the scenario's longest watch."""

    backoff_limit: int = 6
    fails_on: tuple[int, ...] = ()
    """Exit codes with the action FailJob in podFailurePolicy; none: no podFailurePolicy."""


def fault_of_job(job: Job, policy: RestartPolicy) -> str | None:
    """Why a Job cannot carry out a pod with that restart policy in a scenario; None if it can."""
    if policy is RestartPolicy.ALWAYS:
        return "a Job takes no pod with restart policy Always"
    if job.fails_on and policy is not RestartPolicy.NEVER:
        return f"a Job with podFailurePolicy takes no pod with restart policy {policy}"
    if policy is RestartPolicy.NEVER and job.backoff_limit >= MOST_PODS:
        return f"backoff_limit {job.backoff_limit} lets the Job make more than {MOST_PODS} pods"
    return None
