"""The simulated recorder of a scenario with a Deployment, and its ReplicaSet of one replica.

pkg/controller/replicaset/replica_set.go manageReplicas @v1.37.1: a pod that has ended counts no more, so another is made at once.
"""

from typing import Any

from crashloop.sim.behaviour import S
from crashloop.sim.director import REQUEST_MS, ScenarioPlayer
from crashloop.sim.kubelet import Kubelet
from crashloop.sim.pod import SimPod
from crashloop.sim.status_writer import StatusWriter
from crashloop.spec.scenario import PodScenario

FIRST_BACKOFF_NS = 10 * S
"""Of a faulty ReplicaSet that spaces its pods; it doubles."""


class DeploymentPlayer(ScenarioPlayer):
    """Carries out one scenario with a Deployment and writes its history."""

    def __init__(self, scenario: PodScenario, *surroundings: Any) -> None:
        self._replaces = next(each for each in surroundings if isinstance(each, Kubelet)).behaviour.replaces
        self._kept: dict[str, StatusWriter] = {}
        """By the uids of the pods."""
        self._done: set[str] = set()
        super().__init__(scenario, *surroundings)

    def _create(self) -> tuple[SimPod, StatusWriter]:
        pod, writer = super()._create()
        self._kept[pod.uid] = writer
        return pod, writer

    def _status_seen(self, pod_uid: str, status: dict[str, Any]) -> None:
        if status["phase"] in ("Succeeded", "Failed") and pod_uid not in self._done:
            self._done.add(pod_uid)
            self._replace()
        super()._status_seen(pod_uid, status)

    def _replace(self) -> None:
        late_ns = FIRST_BACKOFF_NS << (len(self._done) - 1) if self._replaces == "spaced" else 0
        is_doubled = self._replaces == "twice" and len(self._done) == 1
        for _ in range(0 if self._replaces == "never" else 1 + is_doubled):
            self.loop.after(late_ns + self.host.takes_ms(REQUEST_MS), self._make_another)

    def _make_another(self) -> None:
        if self.history is None:
            self.pod, self._writer = self._create()

    def _read_out(self) -> None:
        for uid, writer in self._kept.items():
            writer.read()
            self.tape.read_journals(uid, self.loop.now)
