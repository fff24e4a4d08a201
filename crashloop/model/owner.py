"""What the owner of a pod does when it has ended: how a Job ends, what a ReplicaSet replaces, how long that takes.

Theory of operation. The Job controller knows nothing but the statuses of its pods: pods one after the other, or several of which
none is replaced. A pod that has Failed counts as one failure, and with an exit code of the action FailJob ends the Job at once.
Restarts inside a pod count only under OnFailure, and only while the pod is not ended. A pod that is active when the Job fails
is deleted and counted as failed.
Source: documentation, Jobs, Pod backoff failure policy and Pod failure policy; KEP-5307, Job PodFailurePolicy;
pkg/controller/job/job_controller.go@v1.37.1 syncJob, pastBackoffLimitOnFailure.

A ReplicaSet wants one pod. One that is Succeeded or Failed counts no more, so another is made at once, without a backoff, and
those that have ended stay. Before container restart policies no pod of a Deployment could end by itself: its policy is Always.
Source: pkg/controller/controller_utils.go@v1.37.1 FilterActivePods; pkg/controller/replicaset/replica_set.go manageReplicas.

The expected course: pods one after the other or all at once, each as if alone.
"""

from collections.abc import Mapping, Sequence

import msgspec

from crashloop.model.course import Course, Process, processes_of, rehearsed
from crashloop.model.gates import kubelet_version
from crashloop.model.pod_status import FAILED, SUCCEEDED
from crashloop.model.rehearsal import Rehearsal
from crashloop.model.variants import DOCUMENTED, REPLACES_AT_ONCE, RESTART_ALL_COUNTS_EACH, as_shipped
from crashloop.spec.owner import Job
from crashloop.spec.pod import Pod, RestartPolicy
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import PodScenario
from crashloop.spec.version import KubernetesVersion

_FIRST_BACKOFF_S, _MOST_BACKOFF_S = 10.0, 600.0


class JobPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod of a Job as it was last reported."""

    phase: str
    exit_codes: tuple[int, ...] = ()
    """Of its terminated containers, as far as podFailurePolicy looks at them."""
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


def is_past_limit(job: Job, policy: RestartPolicy, restarts: int) -> bool:
    """Whether a Job fails by so many restarts of an active pod."""
    return policy is RestartPolicy.ON_FAILURE and restarts >= max(1, job.backoff_limit)


def job_end(job: Job, policy: RestartPolicy, pods: Sequence[JobPod]) -> JobEnd | None:
    """How a Job ends with these pods, in order of creation; None while it goes on. `policy` is the pods'."""
    failed = succeeded = 0
    for number, pod in enumerate(pods, start=1):
        succeeded += pod.phase == SUCCEEDED
        if succeeded == job.parallelism:
            return JobEnd(end="Complete", failed=failed, succeeded=succeeded, pods=number)
        has_reached = is_past_limit(job, policy, pod.restarts)
        failed += pod.phase == FAILED or has_reached
        if pod.phase == FAILED and set(pod.exit_codes) & set(job.fails_on):
            return _failed_job(job, pods, "PodFailurePolicy", number)
        if has_reached or failed > job.backoff_limit:
            return _failed_job(job, pods, "BackoffLimitExceeded", number)
    return None


def _failed_job(job: Job, pods: Sequence[JobPod], reason: str, number: int) -> JobEnd:
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


REPLACED_AFTER_S = 1.5
"""From the exit to the next pod's sandbox; 1.5 s to 2.3 s were measured, of which 1 s is the kubelet's relist."""


def replaces_at_once(deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether pods that have ended are replaced without a limit; else no more often than a container would be restarted."""
    return REPLACES_AT_ONCE in deviations


def job_course_of(scenario: PodScenario, profile: KubeletProfile, version: KubernetesVersion) -> Course:
    """The course on a node with that profile in a cluster of that version.

    Raises UsageError if the kubelet does not start with the profile.
    """
    known = as_shipped(kubelet_version(profile, version))
    soonest, latest = rehearsed(scenario, profile, version, known)
    begins_s = _begins_s(scenario, soonest, known)
    one = tuple(processes_of(scenario.pod, soonest, soonest.ended_s))
    return Course.within(
        _ends_s(scenario, begins_s[-1] + soonest.ended_s),
        _ends_s(scenario, _begins_s(scenario, latest, known)[-1] + latest.ended_s),
        (Process(begin_s + at_s, asks) for begin_s in begins_s for at_s, asks in one),
    )


def replaced_course_of(scenario: PodScenario, profile: KubeletProfile, version: KubernetesVersion) -> Course:
    """The course with a Deployment of one replica, which is replaced as soon as it has ended; it goes on to the end of the watch.

    Raises UsageError if the kubelet does not start with the profile.
    """
    soonest, _ = rehearsed(scenario, profile, version, as_shipped(kubelet_version(profile, version)))
    one = tuple(processes_of(scenario.pod, soonest, soonest.ended_s))
    every_s = soonest.ended_s + REPLACED_AFTER_S
    further = int(scenario.longest_s / every_s) if soonest.phase in (SUCCEEDED, FAILED) else 0
    begins_s = [number * every_s for number in range(further + 1)]
    processes = (Process(begin_s + at_s, asks) for begin_s in begins_s for at_s, asks in one)
    return Course.within(_ends_s(scenario, 0.0), scenario.longest_s, processes)


def _pods_made(scenario: PodScenario, alone: Rehearsal, known: frozenset[str]) -> int:
    """How many pods the Job makes if each goes like this one; `known` are deviations."""
    assert scenario.job is not None
    end, named = None, scenario.job.fails_on_container
    pods: list[JobPod] = []
    codes = tuple(exits[-1].exit_code for name, exits in alone.exits.items() if exits and named in (None, name))
    while end is None and len(pods) <= scenario.job.backoff_limit:
        restarts = counted_restarts(scenario.pod, {name: len(each) for name, each in alone.restarts_s.items()}, known)
        pods.append(JobPod(phase=alone.phase, exit_codes=codes, restarts=restarts))
        end = job_end(scenario.job, scenario.pod.restart_policy, pods)
    return len(pods)


def _begins_s(scenario: PodScenario, alone: Rehearsal, known: frozenset[str]) -> list[float]:
    """When each pod is created."""
    if scenario.job is not None and scenario.job.parallelism > 1:
        return [0.0] * scenario.job.parallelism
    begins_s = [0.0]
    for failures in range(1, _pods_made(scenario, alone, known)):
        begins_s.append(begins_s[-1] + alone.ended_s + replacement_s(failures))
    return begins_s


def _ends_s(scenario: PodScenario, ended_s: float) -> float:
    """When the watch ends, if the last pod does then."""
    until = scenario.until
    return min(max(ended_s, until.at_least_s) + until.quiet_s, until.at_most_s)
