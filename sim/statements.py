"""The kubelet's statements about a pod: phase, container states, restartCount. The status of the API object.

pkg/kubelet/kubelet_pods.go convertToAPIContainerStatuses and getPhase @v1.37.1. The status is made before the decision
of the same sync, so a backoff shows one sync later (reason cache), and a start with the next look at the runtime.
"""

from collections.abc import Callable
from typing import Any

from crashloop.spec.pod import Container, ContainerKind, ProbeKind
from sim.behaviour import Behaviour, S
from sim.instance import InstanceState, PodView, SimulatedInstance
from sim.pod import SimPod, stamp
from sim.pod_actions import present, reset_source, restarts
from sim.pod_status import (
    ENDED,
    ONCE_ENDED,
    READY_TO_START,
    READY_TYPES,
    TERMINAL,
    PodConditions,
    State,
    generation,
    leaves_end,
    ready_to_start,
    stated_phase,
    terminated,
)
from sim.policy import Policies

_RESET_MESSAGE = "The container is removed because RestartAllContainers in place"
RESET_STATE: State = {"terminated": {"reason": "RestartingAllContainers", "message": _RESET_MESSAGE, "exitCode": 137}}
LOST_STATE: State = {
    "terminated": {
        "reason": "ContainerStatusUnknown",
        "message": "The container could not be located when the pod was deleted.  The container used to be Running",
        "exitCode": 137,
    }
}
RESTARTING_ALL = "AllContainersRestarting"
CARRIED_NS = S
"""Until the prober has met the new instance: 0.8 s were seen on 1.37.1."""


def _phase_fields(phase: str, reasoned: bool) -> dict[str, str]:
    return {"phase": phase, "reason": "DeadlineExceeded" if reasoned and phase == "Failed" else ""}


class Statements:
    """Makes the statuses of one pod."""

    def __init__(self, pod: SimPod, policies: Policies, now: Callable[[], int]) -> None:
        self.pod = pod
        self.policies = policies
        self._now = now
        self.reasons: dict[str, str] = {}
        """The reason cache: why a container was not started, by name (the message of CrashLoopBackOff)."""
        self.failed: dict[str, str] = {}
        """Containers whose last start failed before they were created, and the reason that is stated."""
        self.refused: set[str] = set()
        """Containers whose last start the runtime refused."""
        self.reset: set[str] = set()
        """Containers that RestartAllContainers removed and that have not started again."""
        self.lost: set[str] = set()
        """Containers that were said to run and of which the runtime knows no more."""
        self._running: set[str] = set()
        """Containers that were said to run last."""
        self.uncounted: dict[str, int] = {}
        """Restarts that a faulty kubelet leaves out of restartCount."""
        self.past_deadline = False
        """Whether the pod has been active for too long."""
        self._stated = "Pending"
        self._resets = False
        """Whether the condition AllContainersRestarting is True."""
        self._made: tuple[dict[str, Any], str] = ({}, "Pending")
        self._made_of: tuple[object, ...] | None = None
        self.is_ready: Callable[[Container, SimulatedInstance], bool] = lambda *_: True
        """Whether a running instance is ready, by its probes."""
        self.has_started: Callable[[Container, SimulatedInstance], bool] = lambda *_: True
        """Whether a running instance has started, by its startup probe."""
        self.carries_started = False
        """Whether the next instance counts as started for a moment, if no status has shown the end of one that had started."""
        self.states_sandbox_at_once = False
        """Whether the kubelet says that a sandbox is ready before the sync that made it is over."""
        self._shown: dict[str, tuple[str, bool]] = {}
        """The instance that the last status showed running, and whether it had started, by name."""
        self._carried: set[str] = set()
        self._ready = PodConditions(policies.behaviour, now)
        self._kept: dict[str, dict[str, Any]] = {}
        """The last status of each container."""
        self._held: dict[str, str] = {}
        """The message of the last delay, by name."""
        self._first_starts: dict[str, int | None] = {}
        self._ends: dict[str, State] = {}
        self._last: dict[str, State] = {}
        """The last state stated of each container; it outlives the exited instance."""

    def mark_reset(self, names: set[str]) -> None:
        """RestartAllContainers removed the instances of these containers; one that was said to wait goes on waiting."""
        self.reset |= names - {
            each for each in self.reasons if "waiting" in self._kept.get(each, {"state": {}})["state"]
        }
        self._last |= dict.fromkeys(self.reset, RESET_STATE)
        self.reasons.clear()

    def inherit(self, before: "Statements") -> None:
        """Take over what the API object already says, after a restart of the kubelet: one that it reads from a file says nothing.

        pkg/kubelet/status/status_manager.go@v1.37.1 SetPodStatus; startTime and conditions of a static pod moved on 1.37.2.
        """
        self.reset = before.reset
        self._stated = before._stated
        self._last = before._last
        self._running = before._running
        if not self.pod.is_static:
            self._ready = before._ready
        if not (self.pod.is_static and self.policies.behaviour.forgets_static_init):
            self._kept = before._kept

    def status(self, view: PodView) -> tuple[dict[str, Any], str]:
        """The PodStatus, and the true phase. What has not changed is not made again."""
        pod = self.pod
        key = (
            view.key,
            view.has_sandbox,
            tuple(self.reasons.items()),
            frozenset(self.reset),
            frozenset(self.lost),
            tuple(self.failed.items()),
            tuple(pod.images.values()),
            pod.sandboxes,
            pod.taken_ns,
            self.past_deadline,
            self._by_probes(),
            tuple(self._shown.items()),
        )
        if key != self._made_of:
            self._made, self._made_of = self._make(view), key
        return self._made

    def _make(self, view: PodView) -> tuple[dict[str, Any], str]:
        pod, behaviour = self.pod, self.policies.behaviour
        if behaviour.infers_lost_ends:
            self._infer_ends(view)
        phase = self.phase(view)
        regulars = view.by_start(pod.regulars) if behaviour.lists_by_start else pod.regulars
        statuses = {
            "initContainerStatuses": [self._container(each, view, behaviour) for each in pod.inits],
            "containerStatuses": [self._container(each, view, behaviour) for each in regulars],
        }
        has_sandbox = view.has_sandbox and behaviour.ready_to_start != "never"
        conditions = [
            ready_to_start(has_sandbox),
            self._ready.initialized(pod, statuses, keeps=self.policies.reset),
            *self._ready.conditions(pod, statuses, phase),
            *([{"type": "PodScheduled", "status": "True"}] if behaviour.initialized != "without PodScheduled" else []),
            *self._restarting_all(view, phase),
        ]
        self._stated, once_sent = stated_phase(
            pod,
            view,
            self.policies,
            phase,
            self._stated,
            past_deadline=self.past_deadline,
            resets=self._resets,
        )
        reasoned = self.past_deadline and behaviour.deadline != "unreasoned"
        status = {
            **_phase_fields(self._stated, reasoned),
            ONCE_ENDED: _phase_fields(once_sent, reasoned) if once_sent != self._stated else None,
            "startTime": stamp(self._start_ns()),
            "conditions": conditions,
            "podIP": self._address(self._stated),
            "observedGeneration": generation(pod, behaviour),
            **statuses,
            "ephemeralContainerStatuses": [
                self._container(each, view, behaviour) for each in pod.ephemerals if view.newest(each.name)
            ],
        }
        return {name: value for name, value in status.items() if value}, phase

    def with_sandbox(self) -> dict[str, Any] | None:
        """The last status once the sandbox is ready, which needs no other look at the pod; None where the next sync says so.

        pkg/kubelet/kubelet.go@v1.37.2 OnPodSandboxReady.
        """
        if not self.states_sandbox_at_once or self.policies.behaviour.ready_to_start != "at once":
            return None
        last, _ = self._made
        others = [each for each in last.get("conditions", ()) if each["type"] != READY_TO_START]
        return {**last, "conditions": [ready_to_start(True), *others]}

    def _start_ns(self) -> int:
        moves = self.policies.behaviour.start_time_moves
        starts = (each.started_ns for each in self.pod.instances if each.started_ns is not None and moves)
        return max(starts, default=self.pod.taken_ns)

    def _infer_ends(self, view: PodView) -> None:
        """What ran and is gone has ended, though nobody knows how: convertToAPIContainerStatuses."""
        gone = {name for name in self._running - self.reset if view.newest(name) is None}
        self.lost |= gone
        self._last |= dict.fromkeys(gone, LOST_STATE)
        self._running -= gone

    def _by_probes(self) -> tuple[tuple[str, bool, bool], ...]:
        """The instances that run, by their ids, whether they are ready, and whether they have started."""
        alive = ((self.pod.spec.container(each.name), each) for each in self.pod.alive())
        return tuple(
            (each.container_id, self.is_ready(container, each), self.has_started(container, each))
            for container, each in alive
        )

    def _restarting_all(self, view: PodView, phase: str) -> list[dict[str, str]]:
        """The condition of pods with a rule that can restart all containers (status/generate.go@v1.37.1)."""
        behaviour = self.policies.behaviour
        if not self.policies.reset or not behaviour.states_reset:
            return []
        if not self.pod.spec.restarts_all:
            return [{"type": RESTARTING_ALL, "status": "False"}] if self._has_condition_without_rule() else []
        asked = phase not in TERMINAL and reset_source(self.pod, view, self.policies) is not None
        self._resets = asked or (behaviour.reset_never_over and self._resets)
        return [{"type": RESTARTING_ALL, "status": str(self._resets or behaviour.reset_from_the_start)}]

    def _has_condition_without_rule(self) -> bool:
        match self.policies.behaviour.condition_without_rule:
            case "restarted":
                return any(self.pod.numbers.values())
            case "ruled":
                return any(each.rules for each in self.pod.spec.containers)
            case pods:
                return pods == "every"

    def _address(self, phase: str) -> str | None:
        """The address that came with the first sandbox; each further one has one of its own."""
        pod = self.pod
        if phase in TERMINAL and not self.policies.behaviour.address_of_ended:
            return None
        number = pod.sandboxes + (max(pod.numbers.values(), default=0) if self.policies.behaviour.address_moves else 0)
        return f"10.0.0.{number}" if pod.sandboxes else None

    def final(self, view: PodView) -> dict[str, Any] | None:
        """The status of a pod that was stopped to be deleted; None: nothing is said any more."""
        kind = self.policies.behaviour.final_status
        if kind == "nothing":
            return None
        last, _ = self.status(view)
        status = {**last, **self._final_phase(view, last["conditions"])}
        if kind == "regular":
            status.pop("initContainerStatuses", None)
        for each in (one for name in ("initContainerStatuses", "containerStatuses") for one in status.get(name, ())):
            if kind == "killed":
                each["state"] = {"terminated": {**each["state"].get("terminated", {}), "exitCode": 137}}
        return status

    def _final_phase(self, view: PodView, conditions: list[dict[str, str]]) -> dict[str, Any]:
        """Nothing of the pod is restarted any more, whatever its policies say: it has ended, and no restart of all goes on."""
        stated = self.policies.behaviour.final_phase
        if stated == "kept":
            return {}
        codes = [newest.instance.exit_code for each in self.pod.regulars if (newest := view.newest(each.name))]
        phase = stated if stated != "true" else "Failed" if any(codes) else "Succeeded"
        over = {RESTARTING_ALL: {"status": "False"}} | {each: {"reason": ENDED[phase]} for each in READY_TYPES}
        return {
            "phase": phase,
            "podIP": self._address(phase) or "",
            "conditions": [each | over.get(each["type"], {}) for each in conditions],
        }

    def phase(self, view: PodView) -> str:
        """The phase by the rules of getPhase with the gate ContainerRestartRules on."""
        failed, pending = self._init_progress(view)
        if failed or (self.past_deadline and self.policies.behaviour.deadline != "stated only"):
            return "Failed"
        newest = {each.name: view.newest(each.name) for each in self.pod.regulars}
        if pending or any(seen is None and not self._has_run(name) for name, seen in newest.items()):
            return "Pending"
        here = any(present(each, self.pod, view) for each in self.pod.regulars)
        if not here and any(self._is_starting(each, view) for each in self.pod.inits):
            return "Pending"
        if any(seen is not None and seen.state < InstanceState.EXITED for seen in newest.values()):
            return "Running"
        if any(
            seen is None or restarts(seen.instance, container, self.pod, self.policies)
            for container, seen in zip(self.pod.regulars, newest.values(), strict=True)
        ):
            return "Running"
        ended_well = all(seen is not None and seen.instance.exit_code == 0 for seen in newest.values())
        return "Succeeded" if ended_well else "Failed"

    def _is_starting(self, container: Container, view: PodView) -> bool:
        """Whether it runs and has not started as far as getPhase knows: by the old status, which its startup probe corrects."""
        newest = view.newest(container.name)
        if newest is None or newest.state is not InstanceState.RUNNING:
            return False
        if not self.carries_started:  # up to 1.34 it knows nothing of the old status
            return True
        if container.probe(ProbeKind.STARTUP):
            return not self.has_started(container, newest.instance)
        return self._shown.get(container.name) != (newest.instance.container_id, True)

    def _has_run(self, name: str) -> bool:
        """Whether a container without an instance had one: RestartAllContainers removed it."""
        return name in self.reset or name in self._last

    def _init_progress(self, view: PodView) -> tuple[bool, bool]:
        """Whether an init container failed for good, and whether one runs or has yet to run for the first time."""
        failed = pending = False
        for container in self.pod.inits:
            newest = view.newest(container.name)
            if newest is None:
                pending |= not (self._has_run(container.name) or self._is_kept(container))
            elif container.is_sidecar:
                continue
            elif newest.state is not InstanceState.EXITED:
                pending = True
            elif newest.instance.exit_code != 0:
                failed |= not restarts(newest.instance, container, self.pod, self.policies)
        return failed, pending

    def _container(self, container: Container, view: PodView, behaviour: Behaviour) -> dict[str, Any]:
        name = container.name
        views = view.of(name)
        if not views and self._is_kept(container):
            return self._kept[name]
        state, running = self._state(container, view)
        previous = views[:1] if "waiting" in state else views[1:]
        ended = next((seen.instance for seen in previous if seen.state is InstanceState.EXITED), None)
        kept = self._kept.get(name, {"state": {}, "restartCount": 0})
        if ended is not None:
            self._note_end(name, terminated(ended, behaviour.last_exit_code_offset, behaviour, is_last=True))
        instance = views[0].instance if views else None
        count = self._count(name, instance)
        if name in self.pod.counted_anew and self.policies.reset:
            # What has been stated goes on: convertContainerStatus, from 1.35 on.
            goes_on = "running" in state and "terminated" in kept["state"] and kept["restartCount"] >= count
            count = kept["restartCount"] + 1 if goes_on else max(kept["restartCount"], count)
        status = {
            "name": name,
            "state": state,
            "ready": self._is_ready(container, instance, state)
            or (behaviour.ready_while_waiting and "waiting" in state and bool(views)),
            "restartCount": count,
            "image": self.pod.images[name],
            "imageID": "",
            "started": self._has_started(container, instance, running),
        }
        self._carry_started(container, instance, running, status)
        if name in self._last and not (
            behaviour.states_last_end == "never"
            or (behaviour.states_last_end == "not while it waits" and "waiting" in state and instance is not None)
        ):
            status["lastState"] = self._last[name]
        if instance is not None and behaviour.names_container != "none":
            stated = views[1].instance if behaviour.names_container == "the one before" and views[1:] else instance
            status["containerID"] = f"containerd://{stated.container_id}"
        if container not in self.pod.inits or not leaves_end(container, self.pod.spec, kept["state"], state):
            self._kept[name] = status
        return status

    def _is_kept(self, container: Container) -> bool:
        """Whether it is an init container whose record is gone: what was stated of it stays (convertToAPIContainerStatuses)."""
        is_init = container.kind is ContainerKind.INIT and not container.is_sidecar
        kept = self._kept.get(container.name, {"state": {}})["state"]
        return is_init and "terminated" in kept and container.name not in self.reset

    def _is_ready(self, container: Container, instance: SimulatedInstance | None, state: State) -> bool:
        """An init container is ready once it is done: pkg/kubelet/prober/prober_manager.go@v1.37.1 UpdatePodStatus."""
        if container.kind is ContainerKind.INIT and not container.is_sidecar:
            done = bool(state.get("terminated", {}).get("exitCode") == 0)
            return done and self.policies.behaviour.ready_unprobed != "no init containers"
        if instance is not None and not any(each.kind is ProbeKind.READINESS for each in container.probes):
            when = self.policies.behaviour.ready_unprobed
            if when == "also while it waits" and "waiting" in state:
                return True
            if when == "in its first life" and instance.number:
                return False
            if when == "before it has started" and "running" in state:
                return True
        return "running" in state and instance is not None and self.is_ready(container, instance)

    def _has_started(self, container: Container, instance: SimulatedInstance | None, running: bool) -> bool:
        match self.policies.behaviour.states_started:
            case "running":
                return running
            case "ever":
                return instance is not None
            case "never":
                return False
        return running and instance is not None and self.has_started(container, instance)

    def _carry_started(
        self, container: Container, instance: SimulatedInstance | None, running: bool, status: dict[str, Any]
    ) -> None:
        """`started` of the old status, whatever its instance: kubelet_pods.go@v1.37.1 convertToAPIContainerStatuses."""
        if instance is None or not running:
            self._shown.pop(container.name, None)
            return
        before, had_started = self._shown.get(container.name, (instance.container_id, False))
        if self.carries_started and had_started and before != instance.container_id:
            self._carried.add(instance.container_id)
        started_ns = instance.started_ns or 0
        if instance.container_id in self._carried and self._now() - started_ns < CARRIED_NS:
            status["started"] = True
        self._shown[container.name] = instance.container_id, bool(status["started"])

    def _note_end(self, name: str, ended: State) -> None:
        """Keep how the last instance ended, or by a faulty kubelet the one before it."""
        if not self.policies.behaviour.last_state_behind:
            self._last[name] = ended
        elif self._ends.get(name) != ended:
            self._last[name] = self._ends.get(name, ended)
            self._ends[name] = ended

    def _state(self, container: Container, view: PodView) -> tuple[State, bool]:
        """The state, and whether it is running."""
        newest = view.newest(container.name)
        behaviour = self.policies.behaviour
        if newest is None or newest.state is InstanceState.CREATED:
            return self._not_started(container.name), False
        self.reset.discard(container.name)
        self.lost.discard(container.name)
        self._running.discard(container.name)
        instance = newest.instance
        if newest.state is InstanceState.RUNNING or behaviour.running_while_dead:
            self._running.add(container.name)
            if behaviour.waits_on and container.name in self._held:
                return {"waiting": {"reason": behaviour.waiting_reason, "message": self._held[container.name]}}, False
            started_ns = self._first_starts.setdefault(container.name, instance.started_ns)
            started_ns = started_ns if behaviour.started_at_first else instance.started_ns
            return {"running": {"startedAt": stamp(started_ns)}}, True
        message = self.reasons.get(container.name)
        reason = "RunContainerError" if container.name in self.refused else behaviour.waiting_reason
        if message is not None:
            self._held[container.name] = message
        if message is not None and reason and restarts(instance, container, self.pod, self.policies):
            return {"waiting": {"reason": reason, "message": message}}, False
        return terminated(instance, behaviour.exit_code_offset, behaviour), False

    def _not_started(self, name: str) -> State:
        if name in self.failed:
            return {"waiting": {"reason": self.failed[name]}}
        if name in self.reset:
            return {"waiting": {"reason": "RestartingAllContainers", "message": _RESET_MESSAGE}}
        return {"waiting": {"reason": "PodInitializing" if self.pod.inits else "ContainerCreating"}}

    def _count(self, name: str, instance: SimulatedInstance | None) -> int:
        """The restartCount: that of the newest instance, or of the one to come after RestartAllContainers."""
        behaviour = self.policies.behaviour
        number = instance.number if instance is not None else self.pod.numbers.get(name, -1)
        if instance is None and name in self.reset | self.lost:
            number += 1
        number = max(number - self.uncounted.get(name, 0), 0)
        if behaviour.count_low_while_running and instance is not None and instance.seen is InstanceState.RUNNING:
            number -= 1
        if behaviour.count_high_while_waiting and name in self.reasons:
            number += 1
        if not behaviour.counts_init and any(each.name == name for each in self.pod.inits):
            return 0
        if behaviour.count_up_to is not None:
            number = min(number, behaviour.count_up_to)
        if behaviour.count_skips and number >= 2:
            number += 1
        if behaviour.count_drops and number >= 2:
            number -= 2
        return max(number + behaviour.count_offset, 0)
