"""The expected course of a scenario with a Job: its pods one after the other, each as if it were alone. Pure."""

from collections.abc import Callable

from crashloop.model.course import Course, pod_starts_s
from crashloop.model.gates import kubelet_version
from crashloop.model.in_force import in_force
from crashloop.model.job import JobPod, counted_restarts, job_end, replacement_s
from crashloop.model.lateness import soonest_s
from crashloop.model.prediction import setting_of
from crashloop.model.rehearsal import Rehearsal, rehearse
from crashloop.model.variants import as_shipped
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import PodScenario
from crashloop.spec.version import KubernetesVersion

_SLOW_START_S = 3.0
"""What a start takes on a loaded node."""


def job_course_of(scenario: PodScenario, profile: KubeletProfile, version: KubernetesVersion) -> Course:
    """The course on a node with that profile in a cluster of that version.

    Raises UsageError if the kubelet does not start with the profile.
    """
    known = as_shipped(kubelet_version(profile, version))
    begins = in_force(profile, version, known)
    setting = setting_of(scenario, begins, known)

    def played(pace: Callable[[float], float], start_s: float) -> Rehearsal:
        return rehearse(scenario.pod, setting, begins.gates, pace=pace, start_s=start_s)

    soonest = played(lambda due_s: soonest_s(due_s, setting.version, mode=setting.mode), 0.0)
    latest = played(setting.latest_s, _SLOW_START_S)
    begins_s = _begins_s(scenario, soonest, known)
    one = tuple(pod_starts_s(scenario.pod, soonest, soonest.ended_s))
    starts_s = sorted(begin_s + at_s for begin_s in begins_s for at_s in one)
    ends_s = _ends_s(scenario, soonest, known), _ends_s(scenario, latest, known)
    return Course(
        soonest_s=ends_s[0], latest_s=ends_s[1], starts_s=tuple(at_s for at_s in starts_s if at_s <= ends_s[1])
    )


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
    begins_s = [0.0]
    for failures in range(1, _pods(scenario, alone, known)):
        begins_s.append(begins_s[-1] + alone.ended_s + replacement_s(failures))
    return begins_s


def _ends_s(scenario: PodScenario, alone: Rehearsal, known: frozenset[str]) -> float:
    until = scenario.until
    ended_s = _begins_s(scenario, alone, known)[-1] + alone.ended_s
    return min(max(ended_s, until.at_least_s) + until.quiet_s, until.at_most_s)
