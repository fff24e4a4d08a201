"""The conditions Ready and ContainersReady of a pod: pkg/kubelet/status/generate.go@v1.37.1 GenerateContainersReadyCondition."""

from typing import Any

from crashloop.sim.behaviour import Behaviour
from crashloop.sim.pod import SimPod
from crashloop.sim.stated_phase import TERMINAL

TYPES = ("ContainersReady", "Ready")


class PodConditions:
    """Makes the conditions of one pod from its container statuses."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._which = behaviour.ready_condition
        self._was_ready = False

    def conditions(self, pod: SimPod, statuses: dict[str, list[dict[str, Any]]], phase: str) -> list[dict[str, str]]:
        """A pod is ready when its regular containers and sidecars are, and has not ended."""
        asked = {each.name for each in (*pod.regulars, *(each for each in pod.inits if each.is_sidecar))}
        ready = [each["ready"] for group in statuses.values() for each in group if each["name"] in asked]
        restarted = any(each["restartCount"] for group in statuses.values() for each in group)
        true = all(ready) and phase not in TERMINAL
        self._was_ready |= true
        stated = {
            "stays": self._was_ready and phase not in TERMINAL,
            "any": any(ready) and phase not in TERMINAL,
            "never again": true and not restarted,
        }.get(self._which, true)
        return [{"type": each, "status": str(stated)} for each in TYPES]
