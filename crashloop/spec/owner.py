"""What makes the pods of a scenario, other than the recorder by a request to the API server.

An owner is a value. A layer has one table from owners to its part of the work: crashloop.record.pod_scenario,
crashloop.sim.simulate, crashloop.run.kinds.
"""

from collections.abc import Sequence

from crashloop.spec.deployment import Deployment, fault_of_deployment
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.job import Job, fault_of_job
from crashloop.spec.policy import RestartPolicy
from crashloop.spec.static_pod import OF_STATIC_PODS, REACH_THE_POD, StaticPod

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
        if is_amended or actions:
            name = type(owner).__name__
            return f"the recorder changes no pod of a {name}: no interventions, ephemeral containers or annotations"
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
