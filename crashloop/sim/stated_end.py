"""What the simulated kubelet states of an instance that has ended: code, reason, times, message."""

from typing import Any

from crashloop.sim.behaviour import Behaviour
from crashloop.sim.pod import SimulatedInstance, stamp
from crashloop.spec.program import KILLED

State = dict[str, Any]


def terminated(instance: SimulatedInstance, code_offset: int, behaviour: Behaviour, *, is_last: bool = False) -> State:
    """A container's state, or its last state."""
    code = min(instance.exit_code + code_offset, behaviour.exit_code_up_to)
    return {
        "terminated": {
            "exitCode": code,
            "reason": "OOMKilled"
            if _ran_out_of_memory(instance, behaviour, is_last)
            else "Completed"
            if code == 0
            else "Error",
            "startedAt": stamp(instance.started_ns, behaviour.started_offset_s),
            "finishedAt": stamp(instance.exited_ns, behaviour.finished_offset_s),
            "containerID": f"containerd://{instance.container_id}",
            **({"message": words} if (words := _words(instance, behaviour, is_last)) else {}),
        }
    }


def _words(instance: SimulatedInstance, behaviour: Behaviour, is_last: bool) -> str:
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
