"""The expected course of a scenario whose pods a controller makes: one after the other or all at once, each as if alone. Pure."""

from crashloop.model.course import Course, pod_starts_s, rehearsed
from crashloop.model.gates import kubelet_version
from crashloop.model.job import JobPod, counted_restarts, job_end, replacement_s
from crashloop.model.phase import FAILED, SUCCEEDED
from crashloop.model.rehearsal import Rehearsal
from crashloop.model.replacement import REPLACED_AFTER_S
from crashloop.model.variants import as_shipped
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import PodScenario
from crashloop.spec.version import KubernetesVersion


def job_course_of(scenario: PodScenario, profile: KubeletProfile, version: KubernetesVersion) -> Course:
    """The course on a node with that profile in a cluster of that version.

    Raises UsageError if the kubelet does not start with the profile.
    """
    known = as_shipped(kubelet_version(profile, version))
    soonest, latest = rehearsed(scenario, profile, version, known)
    begins_s = _begins_s(scenario, soonest, known)
    one = tuple(pod_starts_s(scenario.pod, soonest, soonest.ended_s))
    return Course.within(
        _ends_s(scenario, begins_s[-1] + soonest.ended_s),
        _ends_s(scenario, _begins_s(scenario, latest, known)[-1] + latest.ended_s),
        (begin_s + at_s for begin_s in begins_s for at_s in one),
    )


def replaced_course_of(scenario: PodScenario, profile: KubeletProfile, version: KubernetesVersion) -> Course:
    """The course with a Deployment of one replica, which is replaced as soon as it has ended; it goes on to the end of the watch.

    Raises UsageError if the kubelet does not start with the profile.
    """
    soonest, _ = rehearsed(scenario, profile, version, as_shipped(kubelet_version(profile, version)))
    one = tuple(pod_starts_s(scenario.pod, soonest, soonest.ended_s))
    every_s = soonest.ended_s + REPLACED_AFTER_S
    further = int(scenario.longest_s / every_s) if soonest.phase in (SUCCEEDED, FAILED) else 0
    begins_s = [number * every_s for number in range(further + 1)]
    starts_s = (begin_s + at_s for begin_s in begins_s for at_s in one)
    return Course.within(_ends_s(scenario, 0.0), scenario.longest_s, starts_s)


def _pods(scenario: PodScenario, alone: Rehearsal, known: frozenset[str]) -> int:
    """How many pods the Job makes if each goes like this one; `known` are deviations."""
    assert scenario.job is not None
    end = None
    pods: list[JobPod] = []
    while end is None and len(pods) <= scenario.job.backoff_limit:
        codes = tuple(exits[-1].exit_code for exits in alone.exits.values() if exits)
        restarts = counted_restarts(scenario.pod, {name: len(each) for name, each in alone.restarts_s.items()}, known)
        pods.append(JobPod(phase=alone.phase, exit_codes=codes, restarts=restarts))
        end = job_end(scenario.job, scenario.pod.restart_policy, pods)
    return len(pods)


def _begins_s(scenario: PodScenario, alone: Rehearsal, known: frozenset[str]) -> list[float]:
    """When each pod is created."""
    if scenario.job is not None and scenario.job.parallelism > 1:
        return [0.0] * scenario.job.parallelism
    begins_s = [0.0]
    for failures in range(1, _pods(scenario, alone, known)):
        begins_s.append(begins_s[-1] + alone.ended_s + replacement_s(failures))
    return begins_s


def _ends_s(scenario: PodScenario, ended_s: float) -> float:
    """When the watch ends, if the last pod does then."""
    until = scenario.until
    return min(max(ended_s, until.at_least_s) + until.quiet_s, until.at_most_s)
