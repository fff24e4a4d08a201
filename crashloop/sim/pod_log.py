"""The lines about one pod in the kubelet's log."""

from crashloop.history.event import Kind
from crashloop.sim.behaviour import Behaviour
from crashloop.sim.pod import SimPod
from crashloop.spec.pod import Container

BYTES_OF_A_START = 1_100
"""Of the lines about a pod that a start, an exit and what the kubelet sees of them add to its log."""


class PodLog:
    """Counts the bytes of all lines; only those about a start that is held up are in the history."""

    def __init__(self, pod: SimPod, behaviour: Behaviour) -> None:
        self._pod = pod
        self._behaviour = behaviour
        self._logged: dict[str, int] = {}
        """The restart after which a line about a container was last logged."""

    def add(self, at_ns: int, container: Container, reason: str, text: str, **more: float) -> None:
        """A start is held up for that reason (pkg/kubelet/pod_workers.go@v1.37.1 podWorkerLoop)."""
        line = (
            f'"Error syncing pod, skipping" err="failed to \\"StartContainer\\" for \\"{container.name}\\" '
            f'with {reason}: \\"{text}\\"" podUID="{self._pod.uid}"'
        )
        data = {"line": line, "pod_bytes": self._bytes(container, line), **more}
        self._pod.tape.kubelet(at_ns, Kind.LOG, data, pod_uid=self._pod.uid, container=container.name)

    def _bytes(self, container: Container, line: str) -> int:
        """Of the lines since the last one that was added: this one, and those of a start."""
        behaviour, number = self._behaviour, self._pod.numbers.get(container.name, 0)
        begun = BYTES_OF_A_START if self._logged.get(container.name) != number else 0
        self._logged[container.name] = number
        doubled = behaviour.log_doubles_from is not None and number >= behaviour.log_doubles_from
        return int((begun + len(line)) * (1 + behaviour.log_growth * number) * (2 if doubled else 1))
