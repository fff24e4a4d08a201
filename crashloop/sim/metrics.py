"""The kubelet's metrics, as far as they are judged. pkg/kubelet/metrics/metrics.go and kubelet.go SyncPod @v1.37.1."""

from collections.abc import Iterator
from typing import Any

from crashloop.sim.behaviour import Behaviour
from crashloop.sim.config import Effective, default_gates


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
        yield _value("kubelet_started_pods_total", self.pods)
        yield _value("kubelet_pod_start_duration_seconds_count", self.pod_starts)
        counted = self.containers * self._behaviour.counts_a_start
        yield _value("kubelet_started_containers_total", counted, container_type="container")
        yield _value("kubelet_runtime_operations_total", self.containers, operation_type="start_container")
        yield _value("kubelet_runtime_operations_total", self.images, operation_type="image_status")
        for gate, (stage, enabled) in self._gates(effective).items():
            yield _value("kubernetes_feature_enabled", float(enabled), name=gate, stage=stage)

    def _gates(self, effective: Effective) -> dict[str, tuple[str, bool]]:
        """A gate that a release has on by default is in beta there, one that is off in alpha."""
        how = self._behaviour.gates_stated
        return {
            gate: ("" if how == "stable" else "BETA" if default else "ALPHA", effective.gates[gate] and how != "off")
            for gate, default in default_gates(effective.release).items()
            if how != "hidden"
        }


def _value(name: str, value: float, /, **labels: str) -> dict[str, Any]:
    return {"name": name, "labels": labels, "value": value}
