"""How the Job of a scenario ends, from what its pods reported: pods one after the other, or several of which none is replaced.

Theory of operation. The Job controller knows nothing but the statuses of its pods. A pod that has Failed counts as one failure,
and with an exit code of the action FailJob ends the Job at once. Restarts inside a pod count only under OnFailure, and only
while the pod is not ended. A pod that is active when the Job fails is deleted and counted as failed.
Source: documentation, Jobs, Pod backoff failure policy and Pod failure policy; KEP-5307, Job PodFailurePolicy;
pkg/controller/job/job_controller.go@v1.37.1 syncJob, pastBackoffLimitOnFailure.
"""

from collections.abc import Mapping, Sequence

import msgspec

from crashloop.model.phase import FAILED, SUCCEEDED
from crashloop.model.variants import DOCUMENTED, RESTART_ALL_COUNTS_EACH
from crashloop.spec.owner import Job
from crashloop.spec.pod import Pod, RestartPolicy

_FIRST_BACKOFF_S, _MOST_BACKOFF_S = 10.0, 600.0


class JobPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod of a Job as it was last reported."""

    phase: str
    exit_codes: tuple[int, ...] = ()
    """Of its terminated containers."""
    restarts: int = 0
    """Those that count (`counted_restarts`), while it was active."""

    @property
    def has_ended(self) -> bool:
        return self.phase in (SUCCEEDED, FAILED)


class JobEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The last status of a Job."""

    end: str
    """`Complete`, or `Failed` with its reason."""
    failed: int
    succeeded: int = 0
    pods: int
    """How many it has made."""


def job_end(job: Job, policy: RestartPolicy, pods: Sequence[JobPod]) -> JobEnd | None:
    """How a Job ends with these pods, in order of creation; None while it goes on. `policy` is the pods'."""
    failed = succeeded = 0
    for number, pod in enumerate(pods, start=1):
        succeeded += pod.phase == SUCCEEDED
        if succeeded == job.parallelism:
            return JobEnd(end="Complete", failed=failed, succeeded=succeeded, pods=number)
        is_past_limit = policy is RestartPolicy.ON_FAILURE and pod.restarts >= max(1, job.backoff_limit)
        failed += pod.phase == FAILED or is_past_limit
        if pod.phase == FAILED and set(pod.exit_codes) & set(job.fails_on):
            return _failed(job, pods, "PodFailurePolicy", number)
        if is_past_limit or failed > job.backoff_limit:
            return _failed(job, pods, "BackoffLimitExceeded", number)
    return None


def _failed(job: Job, pods: Sequence[JobPod], reason: str, number: int) -> JobEnd:
    """The end of a Job that fails with its pod of that number: those that are active at the same time fail with it."""
    made = pods[: max(number, job.parallelism)]
    succeeded = sum(each.phase == SUCCEEDED for each in made)
    return JobEnd(end=f"Failed ({reason})", failed=len(made) - succeeded, succeeded=succeeded, pods=len(made))


def counted_restarts(pod: Pod, restarts: Mapping[str, int], deviations: frozenset[str] = DOCUMENTED) -> int:
    """Restarts that a Job counts, of those of each container: one RestartAllContainers, which restarts them all, is one."""
    total = sum(restarts.values())
    if not pod.restarts_all or RESTART_ALL_COUNTS_EACH in deviations:
        return total
    return total - (len(restarts) - 1) * min(restarts.values(), default=0)


def replacement_s(failures: int) -> float:
    """Seconds from the end of the latest of so many failed pods to the next pod: DefaultJobPodFailureBackOff, doubling."""
    return float(min(_FIRST_BACKOFF_S * 2 ** (failures - 1), _MOST_BACKOFF_S))
