"""The simulated recorder of a scenario with a Job: pods come and go as the Job controller says."""

from typing import Any

from crashloop.history.event import Kind
from crashloop.sim.behaviour import S
from crashloop.sim.director import REQUEST_MS, ScenarioPlayer
from crashloop.sim.job_controller import JobController, Reaction
from crashloop.sim.kubelet import Kubelet
from crashloop.sim.loop import Steps
from crashloop.sim.pod import SimPod
from crashloop.sim.status_writer import StatusWriter
from crashloop.spec.scenario import PodScenario

LOOK_MS = (50, 1_100)
"""Until the recorder looks at the Job again."""


class JobPlayer(ScenarioPlayer):
    """Carries out one scenario with a Job and writes its history."""

    def __init__(self, scenario: PodScenario, *surroundings: Any) -> None:
        assert scenario.job is not None
        kubelet = next(each for each in surroundings if isinstance(each, Kubelet))
        self._controller = JobController(scenario.job, scenario.pod.restart_policy, kubelet.behaviour)
        self._kept: dict[str, tuple[SimPod, StatusWriter]] = {}
        """The pods that are still there, by uid."""
        self._shown: dict[str, Any] = {}
        """What the recorder last saw of the Job."""
        self._seen_end = False
        super().__init__(scenario, *surroundings)
        for _ in range(scenario.job.parallelism - 1):
            self._create()
        self._show_job()

    def _create(self) -> tuple[SimPod, StatusWriter]:
        pod, writer = super()._create()
        pod.index = len(self._kept)
        self._kept[pod.uid] = pod, writer
        return pod, writer

    def _status_seen(self, pod_uid: str, status: dict[str, Any]) -> None:
        reaction = self._controller.take(pod_uid, status)
        if reaction is not Reaction.NOTHING:
            self._show_job()
        if reaction is Reaction.REPLACE:
            self.loop.after(self._rest_ns(pod_uid) + self.host.takes_ms(REQUEST_MS), self._replace)
        if reaction is Reaction.END:
            for pod, writer in [each for uid, each in self._kept.items() if self._controller.is_active(uid)]:
                self.loop.spawn(self._end_pod(pod, writer))
        super()._status_seen(pod_uid, status)

    def _rest_ns(self, pod_uid: str) -> int:
        """What is left of the backoff, which counts from the finishedAt of the failed pod's last container.

        pkg/controller/job/backoff_utils.go@v1.37.1 getFinishedTime, getRemainingTime.
        """
        finished_ns = max(self._kept[pod_uid][0].exited_ns.values(), default=self.loop.now)
        return max(0, finished_ns - finished_ns % S + self._controller.backoff_ns - self.loop.now)

    def _replace(self) -> None:
        self.pod, self._writer = self._create()

    def _end_pod(self, old: SimPod, writer: StatusWriter) -> Steps:
        """By the Job controller: nobody reads the pod out before."""
        writer.mark_deleting()
        yield from self.kubelet.delete(old)
        del self._kept[old.uid]
        self.tape.api(writer.delivered_ns, Kind.DELETED, {"resource_version": "9999"}, old.uid)

    def _show_job(self) -> None:
        """The recorder sees the Job's status when it looks the next time."""

        def looked() -> None:
            status = self._controller.status()
            if status != self._shown:
                self.tape.job(self.loop.now, status)
            self._shown, self._seen_end = status, self._controller.has_ended
            self._check()

        self.loop.after(self.host.takes_ms(LOOK_MS), looked)

    def _check(self) -> None:
        if self._seen_end:
            super()._check()

    def _read_out(self) -> None:
        for uid, (_, writer) in self._kept.items():
            writer.read()
            self.tape.read_journals(uid, self.loop.now)
