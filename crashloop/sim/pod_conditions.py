"""The conditions Initialized, Ready and ContainersReady of a pod.

pkg/kubelet/status/generate.go@v1.37.1 GeneratePodInitializedCondition, GenerateContainersReadyCondition.
A pod that fails is not ready from then on, though its containers still end, are ready themselves, and its phase follows only when
they have ended: pkg/kubelet/status/status_manager.go@v1.37.1 mergePodStatus.
"""

from collections.abc import Callable
from typing import Any

from crashloop.sim.behaviour import Behaviour
from crashloop.sim.pod import SimPod, stamp
from crashloop.sim.stated_phase import TERMINAL

TYPES = ("Ready", "ContainersReady")
ENDED = {"Failed": "PodFailed", "Succeeded": "PodCompleted"}
"""Why a pod in that phase is not ready."""


class PodConditions:
    """Makes the conditions of one pod from its container statuses."""

    def __init__(self, behaviour: Behaviour, now: Callable[[], int]) -> None:
        self._which = behaviour.ready_condition
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
            "any": any(ready) and phase not in TERMINAL,
            "never again": true and not restarted,
        }.get(self._which, true)
        if stated is not self._stated:
            self._stated, self._since_ns = stated, self._now()
        reason = {} if stated else {"reason": ENDED.get(phase, "ContainersNotReady")}
        said = {"status": str(stated), "lastTransitionTime": stamp(self._since_ns), **reason}
        return [{"type": each, **said} for each in TYPES]

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
