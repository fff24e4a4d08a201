"""What the kubelet says of itself, as far as it is judged: its metrics, those of kube-state-metrics, the log lines about a pod.

pkg/kubelet/metrics/metrics.go and kubelet.go SyncPod @v1.37.1; kube-state-metrics internal/store/pod.go@v2.15.0.
"""

from collections.abc import Iterator
from typing import Any

from crashloop.history.event import Kind
from crashloop.spec.pod import Container
from sim.behaviour import Behaviour
from sim.config import Effective, default_gates
from sim.pod import SimPod


class Metrics:
    """Counters of one kubelet process."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._phases: dict[str, str] = {}
        """The phase that was last stated, by the pod's uid."""
        self._looks = 0
        self.pods = 0
        self.containers = 0
        self.images = 0
        self.pod_starts = 0

    def stated(self, uid: str, phase: str) -> None:
        """A sync has stated a pod. Real kubelets observe its first sync and its first running state."""
        before = self._phases.get(uid)
        self._phases[uid] = phase
        moments = self._behaviour.pod_start_moments
        self.pod_starts += before is None and "first sync" in moments
        self.pod_starts += (before, phase) == ("Pending", "Running") and "running" in moments
        self.pod_starts += "every sync" in moments

    def held_back(self) -> None:
        """A delay holds a start back."""
        self._looks += 1
        self.pod_starts += "held back" in self._behaviour.pod_start_moments
        every = self._behaviour.asks_for_image_while_held
        self.images += bool(every) and self._looks % every == 0

    def started(self) -> None:
        """A start is made: the image is asked for twice."""
        self.containers += 1
        self.images += 2 * self._behaviour.image_questions

    def series(self, effective: Effective) -> Iterator[dict[str, Any]]:
        """The present values."""
        yield _series_value("kubelet_started_pods_total", self.pods)
        yield _series_value("kubelet_pod_start_duration_seconds_count", self.pod_starts)
        counted = self.containers * self._behaviour.counts_a_start
        yield _series_value("kubelet_started_containers_total", counted, container_type="container")
        yield _series_value("kubelet_runtime_operations_total", self.containers, operation_type="start_container")
        yield _series_value("kubelet_runtime_operations_total", self.images, operation_type="image_status")
        for gate, (stage, enabled) in self._gates(effective).items():
            yield _series_value("kubernetes_feature_enabled", float(enabled), name=gate, stage=stage)

    def _gates(self, effective: Effective) -> dict[str, tuple[str, bool]]:
        """A gate that a release has on by default is in beta there, one that is off in alpha."""
        how = self._behaviour.gates_stated
        return {
            gate: ("" if how == "stable" else "BETA" if default else "ALPHA", effective.gates[gate] and how != "off")
            for gate, default in default_gates(effective.release).items()
            if how != "hidden"
        }


def _series_value(name: str, value: float, /, **labels: str) -> dict[str, Any]:
    return {"name": name, "labels": labels, "value": value}


PREFIX = "kube_pod_container_status"


def state_series(uid: str, status: dict[str, Any], behaviour: Behaviour) -> Iterator[dict[str, Any]]:
    """The values about the pod's containers."""
    how = behaviour.state_metrics
    for each in status.get("containerStatuses", ()):
        labels = {"uid": uid, "container": each["name"]}
        yield _state_value("restarts_total", each["restartCount"] - (how == "behind"), labels)
        waiting = each.get("state", {}).get("waiting")
        if waiting and how != "no reason":
            yield _state_value("waiting_reason", 1, labels | {"reason": waiting.get("reason", "")})
        last = each.get("lastState", {}).get("terminated")
        if last:
            yield _state_value("last_terminated_reason", 1, labels | {"reason": last["reason"]})
            yield _state_value("last_terminated_exitcode", 0 if how == "no code" else last["exitCode"], labels)


def _state_value(name: str, value: float, labels: dict[str, str]) -> dict[str, Any]:
    return {"name": f"{PREFIX}_{name}", "labels": labels, "value": value}


BYTES_OF_A_START = 1_100
"""Of the lines about a pod that a start, an exit and what the kubelet sees of them add to its log."""


BURST = 25
"""Events about a pod that are let through at once: client-go tools/record/events_cache.go@v0.37.1 defaultSpamBurst."""


class PodLog:
    """Counts the bytes of all lines; only those about a start that is held up are in the history. Says the same by Events."""

    def __init__(self, pod: SimPod, behaviour: Behaviour) -> None:
        self._pod = pod
        self._behaviour = behaviour
        self._logged: dict[str, int] = {}
        """The restart after which a line about a container was last logged."""
        self._said = 0
        pod.tape.said(pod.taken_ns, "Created", pod_uid=pod.uid, container=pod.spec.containers[0].name)

    def add(self, at_ns: int, container: Container, reason: str, text: str, **more: float) -> None:
        """A start is held up for that reason (pkg/kubelet/pod_workers.go@v1.37.1 podWorkerLoop)."""
        line = (
            f'"Error syncing pod, skipping" err="failed to \\"StartContainer\\" for \\"{container.name}\\" '
            f'with {reason}: \\"{text}\\"" podUID="{self._pod.uid}"'
        )
        data = {"line": line, "pod_bytes": self._bytes(container, line), **more}
        self._pod.tape.kubelet(at_ns, Kind.LOG, data, pod_uid=self._pod.uid, container=container.name)
        late_ns = self._behaviour.back_off_event_ns
        self._said += reason == "CrashLoopBackOff"
        if reason == "CrashLoopBackOff" and late_ns is not None and self._said <= BURST:
            self._pod.tape.said(at_ns + late_ns, "BackOff", pod_uid=self._pod.uid, container=container.name)

    def _bytes(self, container: Container, line: str) -> int:
        """Of the lines since the last one that was added: this one, and those of a start."""
        behaviour, number = self._behaviour, self._pod.numbers.get(container.name, 0)
        begun = BYTES_OF_A_START if self._logged.get(container.name) != number else 0
        self._logged[container.name] = number
        doubled = behaviour.log_doubles_from is not None and number >= behaviour.log_doubles_from
        return int((begun + len(line)) * (1 + behaviour.log_growth * number) * (2 if doubled else 1))
