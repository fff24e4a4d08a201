"""The parts of a stated pod status: ends of containers, the phase, the conditions of the pod.

The phase that is stated is the true one but for a pod that still stops, and for a faulty kubelet. Of an instance that has
ended: code, reason, times, message.
Conditions: pkg/kubelet/status/generate.go@v1.37.1 GeneratePodInitializedCondition, GenerateContainersReadyCondition,
GeneratePodReadyToStartContainersCondition.
A pod that fails is not ready from then on, though its containers still end, are ready themselves, and its phase follows only when
they have ended: pkg/kubelet/status/status_manager.go@v1.37.1 mergePodStatus.
"""

from collections.abc import Callable
from typing import Any

from crashloop.spec.pod import Container, Pod, RestartPolicy
from crashloop.spec.program import KILLED
from sim.behaviour import Behaviour
from sim.instance import InstanceState, PodView, SimulatedInstance
from sim.pod import IMAGE, RESOURCES, SimPod, stamp
from sim.pod_actions import restarts
from sim.policy import Policies

State = dict[str, Any]


def terminated(instance: SimulatedInstance, code_offset: int, behaviour: Behaviour, *, is_last: bool = False) -> State:
    """A container's state, or its last state."""
    code = min(instance.exit_code + code_offset, behaviour.exit_code_up_to)
    return {
        "terminated": {
            "exitCode": code,
            "reason": _why(instance, behaviour, code, is_last=is_last),
            "startedAt": stamp(instance.started_ns or 0, behaviour.started_offset_s),
            "finishedAt": stamp(instance.exited_ns, behaviour.finished_offset_s),
            "containerID": f"containerd://{instance.container_id}",
            **({"message": words} if (words := _termination_message(instance, behaviour, is_last)) else {}),
        }
    }


def leaves_end(container: Container, pod: Pod, before: State, after: State) -> bool:
    """Whether a status says that an init container goes on that had ended for good, so that no status manager takes it.

    pkg/kubelet/status/status_manager.go@v1.37.1 checkContainerStateTransition; what ends well under Always is free to.
    """
    ended = before.get("terminated")
    if ended is None or "terminated" in after or container.is_sidecar or pod.restarts_all:
        return False
    policy, code = container.restart_policy or pod.restart_policy, ended["exitCode"]
    is_ruled = any(rule.matches(code) for rule in container.rules)
    by_policy = policy is RestartPolicy.ALWAYS or (code and RestartPolicy.ON_FAILURE in (policy, pod.restart_policy))
    return not (pod.restart_policy is RestartPolicy.ALWAYS or is_ruled or by_policy)


def _why(instance: SimulatedInstance, behaviour: Behaviour, code: int, *, is_last: bool) -> str:
    if instance.started_ns is None:
        return "StartError"
    if _ran_out_of_memory(instance, behaviour, is_last):
        return "OOMKilled"
    return "Error" if bool(code) is not behaviour.swaps_reasons else "Completed"


def _termination_message(instance: SimulatedInstance, behaviour: Behaviour, is_last: bool) -> str:
    """The text in its termination log: pkg/kubelet/kuberuntime/kuberuntime_container.go@v1.37.1 getTerminationMessage."""
    own, before = instance.last_words, instance.earlier_words
    return {
        "true": own,
        "none": "",
        "not in the last state": "" if is_last else own,
        "before": before[-1] if before else own,
        "first": before[0] if before else own,
    }[behaviour.states_last_words]


def _ran_out_of_memory(instance: SimulatedInstance, behaviour: Behaviour, is_last: bool) -> bool:
    """Whether the reason of its end is that it ran out of memory: k8s.io/cri-api v1/api.proto@v0.37.1 ContainerStatus."""
    truth = instance.out_of_memory
    return {
        "always": truth,
        "never": False,
        "not in the last state": truth and not is_last,
        "every exit with 137": instance.exit_code == KILLED,
    }[behaviour.states_out_of_memory]


def generation(pod: SimPod, behaviour: Behaviour) -> int:
    """Of the pod's spec as it is; a faulty kubelet names another, or none."""
    images, resources = pod.images.values(), pod.resources.values()
    changes = (
        sum(each != IMAGE for each in images) + sum(each != RESOURCES for each in resources) + bool(pod.ephemerals)
    )
    restarts = sum(pod.numbers.values())
    named = {"none": -1, "first": 0, "ahead": changes + restarts, "until a restart": 0 if restarts else changes}
    waits = not pod.exit_codes.keys() <= {each.name for each in pod.alive()}
    named["less in delays"] = max(0, changes - waits)
    return 1 + named.get(behaviour.generation_named, changes)


TERMINAL = ("Succeeded", "Failed")
ONCE_ENDED = "onceEnded"
"""Of a status that is not sent yet: its phase and reason if the containers have ended by then."""


def stated_phase(
    pod: SimPod, view: PodView, policies: Policies, phase: str, before: str, *, past_deadline: bool, resets: bool
) -> tuple[str, str]:
    """What is stated of a pod in that phase, and what will be if its containers have ended when the status is sent.

    `before` was stated last; `resets`: AllContainersRestarting is True.
    """
    behaviour = policies.behaviour
    if past_deadline and behaviour.deadline == "stated only":
        return "Failed", "Failed"
    if phase in TERMINAL and behaviour.never_ends:
        return before, before
    made = _phase_of(pod, view, policies, phase, resets=resets)
    withheld = phase in TERMINAL and view.running() and behaviour.final_awaits_ends
    return before if withheld else made, made


def _phase_of(pod: SimPod, view: PodView, policies: Policies, phase: str, *, resets: bool) -> str:
    behaviour = policies.behaviour
    by_sidecars = _phase_by_sidecars(pod, view, behaviour, phase)
    if by_sidecars is not None:
        return by_sidecars
    if behaviour.failed_once_one_failed and _one_failed(pod, view, policies):
        return "Failed"
    if phase == "Succeeded" and behaviour.ephemerals_fail_pod:
        newest = [view.newest(each.name) for each in pod.ephemerals]
        if any(each is not None and each.instance.exit_code for each in newest):
            return "Failed"
    if phase == "Failed" and behaviour.always_succeeded:
        return "Succeeded"
    if phase == "Succeeded" and behaviour.always_failed:
        return "Failed"
    if resets and behaviour.phase_in_reset is not None:
        return behaviour.phase_in_reset
    if phase == "Running" and behaviour.phase_while_all_wait is not None and view and not view.running():
        return behaviour.phase_while_all_wait
    in_init = {"always": True, "again": pod.sandboxes > 1}.get(behaviour.running_in_init, False)
    if phase == "Pending" and in_init and view:
        return "Running"
    if phase == "Running" and behaviour.failed_while_waiting and _rule_is_about_to_act(pod, view, policies):
        return "Failed"
    return phase


def _phase_by_sidecars(pod: SimPod, view: PodView, behaviour: Behaviour, phase: str) -> str | None:
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


READY_TO_START = "PodReadyToStartContainers"


def ready_to_start(has_sandbox: bool) -> dict[str, Any]:
    """The condition that says whether the sandbox is there."""
    return {"type": READY_TO_START, "status": str(has_sandbox)}


READY_TYPES = ("Ready", "ContainersReady")
ENDED = {"Failed": "PodFailed", "Succeeded": "PodCompleted"}
"""Why a pod in that phase is not ready."""


class PodConditions:
    """Makes the conditions of one pod from its container statuses."""

    def __init__(self, behaviour: Behaviour, now: Callable[[], int]) -> None:
        self._which = behaviour.ready_condition
        self._transition_time = behaviour.transition_time
        self._initialized = behaviour.initialized
        self._now = now
        self._was_ready = False
        self._was_initialized = False
        self._stated: bool | None = None
        self._since_ns = 0
        """When what is stated became so."""

    def conditions(self, pod: SimPod, statuses: dict[str, list[dict[str, Any]]], phase: str) -> list[dict[str, Any]]:
        """A pod is ready when its regular containers and sidecars are, and has not ended."""
        asked = {each.name for each in (*pod.regulars, *(each for each in pod.inits if each.is_sidecar))}
        ready = [each["ready"] for group in statuses.values() for each in group if each["name"] in asked]
        restarted = any(each["restartCount"] for group in statuses.values() for each in group)
        true = all(ready) and phase not in TERMINAL
        self._was_ready |= true
        stated = {
            "stays": self._was_ready and phase not in TERMINAL,
            "to the end": self._was_ready,
            "any": any(ready) and phase not in TERMINAL,
            "never again": true and not restarted,
        }.get(self._which, true)
        moves = {"first": self._stated is None, "now": True}.get(self._transition_time, stated is not self._stated)
        self._stated, self._since_ns = stated, self._now() if moves else self._since_ns
        why = {} if self._which == "unready at the end" else ENDED
        reason = {} if stated else {"reason": why.get(phase, "ContainersNotReady")}
        since = {} if self._transition_time == "none" else {"lastTransitionTime": stamp(self._since_ns)}
        said = {"status": str(stated), **since, **reason}
        return [{"type": each, **said} for each in READY_TYPES]

    def initialized(self, pod: SimPod, statuses: dict[str, list[dict[str, Any]]], *, keeps: bool) -> dict[str, Any]:
        """Init containers succeed once, sidecars may be down again. A kubelet that `keeps` it takes no True back."""
        sidecars = {each.name for each in pod.inits if each.is_sidecar}
        done = [each["started" if each["name"] in sidecars else "ready"] for each in statuses["initContainerStatuses"]]
        begun = any("waiting" not in each["state"] for each in statuses["containerStatuses"])
        true = begun or all(done) or (keeps and self._was_initialized)
        waits = any(
            "waiting" in each["state"] and each["restartCount"] for group in statuses.values() for each in group
        )
        stated = {"at once": True, "not in delays": true and not waits}.get(self._initialized, true)
        self._was_initialized |= true
        return {"type": "Initialized", "status": str(stated)}


def with_fields_of(old: dict[str, Any], new: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    """A status of which these fields, or those of its containers, are of an older one."""
    mixed = {**new, **{name: old[name] for name in fields if name in old}}
    for kind in ("initContainerStatuses", "containerStatuses"):
        before = {each["name"]: each for each in old.get(kind, ())}
        mixed[kind] = [
            {**each, **{name: before[each["name"]][name] for name in fields if name in before.get(each["name"], ())}}
            for each in new.get(kind, ())
        ]
    return {name: value for name, value in mixed.items() if value}
