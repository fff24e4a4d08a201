"""The phase that is stated, which is the true one but for a pod that still stops, and for a faulty kubelet."""

from crashloop.sim.behaviour import Behaviour
from crashloop.sim.pod import InstanceState, PodView, SimPod
from crashloop.sim.pod_actions import restarts
from crashloop.sim.policy import Policies

TERMINAL = ("Succeeded", "Failed")


def stated_phase(
    pod: SimPod, view: PodView, policies: Policies, phase: str, before: str, *, past_deadline: bool, resets: bool
) -> str:
    """What is stated of a pod in that phase, of which `before` was stated last; `resets`: AllContainersRestarting is True."""
    behaviour = policies.behaviour
    if past_deadline and behaviour.deadline == "stated only":
        return "Failed"
    if phase in TERMINAL and (view.running() or behaviour.never_ends):
        return before
    by_sidecars = _by_sidecars(pod, view, behaviour, phase)
    if by_sidecars is not None:
        return by_sidecars
    if behaviour.failed_once_one_failed and _one_failed(pod, view, policies):
        return "Failed"
    if phase == "Failed" and behaviour.always_succeeded:
        return "Succeeded"
    if phase == "Succeeded" and behaviour.always_failed:
        return "Failed"
    if resets and behaviour.phase_in_reset is not None:
        return behaviour.phase_in_reset
    if phase == "Running" and behaviour.phase_while_all_wait is not None and view and not view.running():
        return behaviour.phase_while_all_wait
    if phase == "Pending" and behaviour.running_in_init and view:
        return "Running"
    if phase == "Running" and behaviour.failed_while_waiting and _rule_is_about_to_act(pod, view, policies):
        return "Failed"
    return phase


def _by_sidecars(pod: SimPod, view: PodView, behaviour: Behaviour, phase: str) -> str | None:
    """What a faulty kubelet states because of a sidecar; None: no such thing."""
    sidecars = [newest for each in pod.inits if each.is_sidecar and (newest := view.newest(each.name))]
    if behaviour.sidecars_keep_pod and phase in TERMINAL and sidecars:
        return "Running"
    if behaviour.sidecar_codes_count and phase == "Succeeded" and any(each.instance.exit_code for each in sidecars):
        return "Failed"
    if behaviour.pending_without_sidecar and any(each.state is InstanceState.EXITED for each in sidecars):
        return "Pending"
    return None


def _one_failed(pod: SimPod, view: PodView, policies: Policies) -> bool:
    newest = [(each, seen.instance) for each in pod.regulars if (seen := view.newest(each.name))]
    ended = [(each, last) for each, last in newest if last.exited_ns is not None and last.exit_code]
    return any(not restarts(last, each, pod, policies) for each, last in ended)


def _rule_is_about_to_act(pod: SimPod, view: PodView, policies: Policies) -> bool:
    newest = [(each, view.newest(each.name)) for each in pod.regulars]
    return all(seen is not None and seen.state is InstanceState.EXITED for _, seen in newest) and any(
        seen is not None and policies.by_rule(container, pod.spec, seen.instance) for container, seen in newest
    )
