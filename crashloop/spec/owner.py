"""What makes the pods of a scenario, other than the recorder by a request to the API server: a Job, a Deployment, a static pod.

An owner is a value. A layer has one table from owners to its part of the work: crashloop.record.pod_scenario,
sim.simulate, crashloop.run.kinds. Its fields are in the words of batch/v1 and apps/v1: a Job makes pods, one or
several at a time, until as many have succeeded; the ReplicaSet of a Deployment replaces each pod that has ended. A static pod
the kubelet makes of a file of its node, and shows it to the API server as a mirror pod.
"""

from collections.abc import Sequence

import msgspec

from crashloop.spec.intervention import DISTURB_NODE, RESTART_THE_KUBELET, InterventionKind
from crashloop.spec.pod import RestartPolicy

MOST_PODS = 8
"""A Job that may make more pods than this is refused: nothing floods the cluster."""


class Job(msgspec.Struct, frozen=True, kw_only=True, tag="job"):
    """Its activeDeadlineSeconds is the scenario's longest watch."""

    parallelism: int = 1
    """Pods at a time, each of which is to succeed (completions). Several are not replaced: their backoff_limit is 0."""
    backoff_limit: int = 6
    fails_on: tuple[int, ...] = ()
    """Exit codes with the action FailJob in podFailurePolicy; none: no podFailurePolicy."""
    fails_on_container: str | None = None
    """The only container whose exit code that rule looks at; None: it looks at those of all."""


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


class Deployment(msgspec.Struct, frozen=True, kw_only=True, tag="deployment"):
    """One replica at a time, until the scenario ends: nothing else bounds the number of its pods."""


def fault_of_deployment(policy: RestartPolicy, *, is_apart: bool) -> str | None:
    """Why a Deployment cannot carry out a pod with that restart policy in a scenario; None if it can.

    `is_apart`: whether the scenario has a control plane for itself, which goes with all that it holds.
    """
    if policy is not RestartPolicy.ALWAYS:
        return f"a Deployment takes no pod with restart policy {policy}"
    return None if is_apart else "a Deployment makes pods without end, so it needs a control plane for itself"


OF_STATIC_PODS = frozenset(
    (InterventionKind.EDIT_STATIC_POD, InterventionKind.RENEW_STATIC_POD, InterventionKind.DELETE_MIRROR_POD)
)
"""Interventions that only a static pod knows."""

REACH_THE_POD = OF_STATIC_PODS | DISTURB_NODE | {InterventionKind.KILL_SANDBOX, InterventionKind.REMOVE_CONTAINER}
"""Interventions that a static pod feels; a change of its mirror pod does not reach it."""


class StaticPod(msgspec.Struct, frozen=True, kw_only=True, tag="static-pod"):
    """A file in the node's staticPodPath, which the recorder writes, changes and removes."""


Owner = Job | Deployment | StaticPod
"""Any of them, as plan.json and histories hold it."""


def fault_of_owner(
    owner: Owner | None,
    policy: RestartPolicy,
    actions: Sequence[InterventionKind],
    *,
    is_amended: bool,
    needs_api: bool,
    is_apart: bool,
) -> str | None:
    """Why an owner cannot carry out a pod with that restart policy and these interventions; None if it can.

    `is_amended`: whether the recorder has to change the pod's object once it exists. `needs_api`: whether the pod takes anything
    from the scheduler or from objects of the API server. `is_apart`: whether the scenario has a control plane for itself.
    """
    if isinstance(owner, Job | Deployment):
        if is_amended or not set(actions) <= RESTART_THE_KUBELET:
            name = type(owner).__name__
            return (
                f"the recorder changes no pod of a {name}: no ephemeral containers or annotations, "
                "and no interventions but restarts of the kubelet"
            )
        return fault_of_job(owner, policy) if isinstance(owner, Job) else fault_of_deployment(policy, is_apart=is_apart)
    if isinstance(owner, StaticPod):
        if needs_api:
            return "a static pod knows neither the scheduler nor objects of the API server"
        if is_amended:
            return "a static pod takes no change from the API server: no ephemeral containers or annotations"
        vain = next((each for each in actions if each not in REACH_THE_POD), None)
        return None if vain is None else f"{vain} does not reach a static pod"
    aimless = next((each for each in actions if each in OF_STATIC_PODS), None)
    return None if aimless is None else f"{aimless} needs a static pod"
