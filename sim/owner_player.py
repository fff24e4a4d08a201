"""The simulated recorder of a scenario whose pod has an owner, and what the owner does: a Job, a Deployment, a file of the node.

Job: pods come and go as the Job controller says.
Deployment: its ReplicaSet of one replica, pkg/controller/replicaset/replica_set.go manageReplicas @v1.37.1: a pod that has
ended counts no more, so another is made at once.
Static pod: what the kubelet does about the pod's file and its mirror pod. pkg/kubelet/pod_workers.go allowStaticPodStart,
pkg/kubelet/kubelet.go tryReconcileMirrorPods @v1.37.1: a deleted mirror pod is made again at the pod's next sync, which the
deletion causes; an edited static pod waits for the end of the one before it, and is tried again after the worker's backoff of
10 s to 15 s.
"""

from enum import Enum, auto
from typing import Any

from crashloop.history.event import Kind
from crashloop.spec.owner import Job
from crashloop.spec.pod import RestartPolicy
from crashloop.spec.scenario import PodScenario
from sim.behaviour import Behaviour, S
from sim.director import REQUEST_MS, ScenarioPlayer
from sim.host import Steps
from sim.kubelet import Kubelet
from sim.pod import SimPod
from sim.status_manager import StatusWriter

_LISTS = ("initContainerStatuses", "containerStatuses")


class Reaction(Enum):
    """What the Job controller does about a status."""

    NOTHING = auto()
    COUNT = auto()
    """One more pod has succeeded."""
    REPLACE = auto()
    """Make another pod after `backoff_ns`."""
    END = auto()
    """The Job has ended: delete the pod if it is active."""


class JobController:
    """One Job from its creation to its end."""

    def __init__(self, job: Job, policy: RestartPolicy, behaviour: Behaviour) -> None:
        self._job = job
        self._policy = policy
        self._behaviour = behaviour
        self._failed = self._succeeded = 0
        self._end: tuple[str, str] | None = None
        """Condition and reason."""
        self._done: set[str] = set()
        """Uids of pods that have ended."""

    @property
    def has_ended(self) -> bool:
        return self._end is not None

    @property
    def backoff_ns(self) -> int:
        """From the end of the last pod to the next."""
        return self._behaviour.job_first_backoff_ns << max(0, self._failed - 1)

    def is_active(self, uid: str) -> bool:
        """Whether a pod has not ended."""
        return uid not in self._done

    def status(self) -> dict[str, Any]:
        """JobStatus."""
        shown: dict[str, Any] = {"failed": self._failed} if self._failed else {}
        shown |= {"succeeded": self._succeeded} if self._succeeded else {}
        if self._end is None:
            return shown | {"active": self._job.parallelism}
        condition, reason = self._end
        return shown | {"conditions": [{"type": condition, "status": "True", "reason": reason}]}

    def take(self, uid: str, status: dict[str, Any]) -> Reaction:
        """What the controller does about a pod's status."""
        if self._end is not None or uid in self._done:
            return Reaction.NOTHING
        containers = [each for name in _LISTS for each in status.get(name, ())]
        phase = status["phase"]
        if phase in ("Succeeded", "Failed"):
            self._done.add(uid)
            regulars = list(status.get(_LISTS[1], ()))
            return self._ended(phase, regulars if self._behaviour.job_looks_at_init == "restarts" else containers)
        if self._behaviour.job_reads_active_pods and self._fails_job(containers):
            return self._fail("PodFailurePolicy")
        counts = self._behaviour.job_counts_restarts
        counted = counts is not False and (counts or self._policy is RestartPolicy.ON_FAILURE)
        restarts = sum(
            each["restartCount"]
            for each in (status.get(_LISTS[1], ()) if self._behaviour.job_looks_at_init == "codes" else containers)
        )
        if counted and restarts >= max(1, self._job.backoff_limit):
            return self._fail("BackoffLimitExceeded")
        return Reaction.NOTHING

    def _ended(self, phase: str, containers: list[dict[str, Any]]) -> Reaction:
        if phase == "Succeeded":
            self._succeeded += 1
            if self._succeeded < self._job.parallelism:
                return Reaction.COUNT
            self._end = "Complete", "CompletionsReached"
            return Reaction.END
        if self._behaviour.job_heeds_policy and self._fails_job(containers):
            return self._fail("PodFailurePolicy")
        if self._failed + 1 > self._job.backoff_limit + self._behaviour.job_extra_failures:
            return self._fail("BackoffLimitExceeded")
        self._failed += 1
        return Reaction.REPLACE if self._behaviour.job_replaces else Reaction.NOTHING

    def _fails_job(self, containers: list[dict[str, Any]]) -> bool:
        name = self._job.fails_on_container if self._behaviour.job_names != "ignored" else None
        if name is not None and self._behaviour.job_names == "lost":
            return False
        codes = {
            ended["exitCode"]
            for each in containers
            if name in (None, each["name"])
            and (ended := each["state"].get("terminated") or each.get("lastState", {}).get("terminated"))
        }
        return bool(codes & set(self._job.fails_on))

    def _fail(self, reason: str) -> Reaction:
        at_once = self._job.parallelism - self._succeeded
        self._failed += at_once if self._behaviour.job_counts_last else at_once - 1
        self._end = "Failed", reason
        return Reaction.END


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


STATES_MS = (60, 700)
"""Until the kubelet writes the pod's status into a mirror pod that is new."""
FORGOTTEN_SHARE = 0.5
"""How often the kubelet comes upon a new mirror pod that it does not know yet, and forgets the pod's status, startTime included:
pkg/kubelet/status/status_manager.go@v1.37.1 syncPod."""
RETRY_MS = (10_000, 15_000)
"""Until the kubelet looks again whether an edited static pod may start."""


class StaticPlayer(ScenarioPlayer):
    """Carries out one scenario with a static pod and writes its history."""

    _mirror = ""
    """Uid of the mirror pod."""
    _is_ending = False
    """Whether a pod whose file was edited has not made room for the next one yet."""
    _is_stuck = False

    def _accept(self, pod: SimPod) -> None:
        """The recorder has written a file; the API server learns of the pod by its mirror pod."""
        pod.is_static = True
        self._make_mirror(pod)

    def _make_mirror(self, pod: SimPod) -> None:
        self._mirror = self._uuid()
        shown_ns = self.loop.now + self.host.takes_ms(REQUEST_MS)
        self._show(pod, "created", shown_ns)
        self.tape.api(shown_ns, Kind.STATUS, {"resource_version": "1", "status": {"phase": "Pending"}}, pod.uid)

    def _show(self, pod: SimPod, phase: str, at_ns: int) -> None:
        self.tape.api(at_ns, Kind.MIRROR, {"phase": phase, "mirror_uid": self._mirror}, pod.uid)

    def _delete_mirror(self) -> None:
        pod, writer, behaviour = self.pod, self._writer, self.kubelet.behaviour
        gone_ns = writer.delivered_ns
        self._show(pod, "deleted", gone_ns)
        if behaviour.mirror_returns_ms is None:
            writer.close()
            return
        back_ns = gone_ns + self.host.takes_ms(behaviour.mirror_returns_ms)
        self.loop.at(back_ns, lambda: self._return(pod, writer))
        self.loop.after(self.host.takes_ms(REQUEST_MS), lambda: self.kubelet.updated(pod))

    def _return(self, pod: SimPod, writer: StatusWriter) -> None:
        self._make_mirror(pod)
        if self.host.chance.random() < FORGOTTEN_SHARE:
            pod.taken_ns = self.loop.now
        if self.kubelet.behaviour.mirror_states:
            self.loop.after(self.host.takes_ms(STATES_MS), writer.repeat)
        else:
            writer.close()

    def _edit(self) -> Steps:
        """The kubelet says nothing more of the old pod, ends it, and comes back to the new one later."""
        old, writer, how = self.pod, self._writer, self.kubelet.behaviour.edited_static
        if self._is_ending:
            self._is_stuck = how == "stuck if twice"
            return
        self._is_ending = True
        self._read_out()
        writer.close()
        yield self.host.takes_ms(REQUEST_MS)
        if how == "beside":
            self.loop.spawn(self.kubelet.delete(old))
        else:
            yield from self.kubelet.delete(old)
            yield self.host.takes_ms(RETRY_MS)
        self._show(old, "deleted", writer.delivered_ns)
        self._is_ending = False
        if not self._is_stuck:
            self.pod, self._writer = self._create()
