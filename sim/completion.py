"""When the simulated recorder is done: counts over all pods of a scenario, by truth and by the statuses."""

from typing import Any

from crashloop.spec.scenario import Until
from sim.pod import SimPod

_LISTS = ("initContainerStatuses", "containerStatuses")


class Completion:
    """What was seen so far of what a scenario waits for."""

    def __init__(self, until: Until) -> None:
        self._until = until
        self._pods: list[SimPod] = []
        self._reported: dict[tuple[str, str], tuple[int, int]] = {}
        self._phases: set[str] = set()

    def add(self, pod: SimPod) -> None:
        """A further pod of the scenario."""
        self._pods.append(pod)

    def take_status(self, pod_uid: str, status: dict[str, Any]) -> None:
        """A status that the recorder has in hand."""
        self._phases.add(status["phase"])
        for each in (container for name in _LISTS for container in status.get(name, ())):
            count, state = each["restartCount"], each["state"]
            ended = "running" not in state and ("terminated" in state or "lastState" in each)
            before = self._reported.get((pod_uid, each["name"]), (0, 0))
            self._reported[pod_uid, each["name"]] = max(before[0], count), max(before[1], count + ended)

    def is_complete(self) -> bool:
        """Whether truth shows all that the scenario waits for, but for its least time."""
        until = self._until
        return (
            all(sum(_restarts(pod, name) for pod in self._pods) >= n for name, n in until.restarts.items())
            and all(sum(_exits(pod, name) for pod in self._pods) >= n for name, n in until.exits.items())
            and (until.phase is None or until.phase in self._phases)
        )

    def moves(self) -> int:
        """Starts and exits so far: it grows with each."""
        return sum(2 * made for pod in self._pods for made in pod.made.values()) - sum(
            1 for pod in self._pods for _ in pod.alive()
        )

    def is_reported(self) -> bool:
        """Whether the statuses show as much."""
        until = self._until
        return all(self._sum(name, 0) >= n for name, n in until.restarts.items()) and all(
            self._sum(name, 1) >= n for name, n in until.exits.items()
        )

    def _sum(self, name: str, index: int) -> int:
        return sum(counts[index] for (_, container), counts in self._reported.items() if container == name)


def _restarts(pod: SimPod, name: str) -> int:
    return max(0, pod.lives.get(name, 0) - 1)


def _exits(pod: SimPod, name: str) -> int:
    alive = sum(1 for each in pod.alive() if each.name == name)
    return pod.made.get(name, 0) - alive
