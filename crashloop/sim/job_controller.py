"""The simulated Job controller: what it makes of the statuses of its pods. Each pod is to succeed."""

from enum import Enum, auto
from typing import Any

from crashloop.sim.behaviour import Behaviour
from crashloop.spec.owner import Job
from crashloop.spec.pod import RestartPolicy

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
            return self._ended(phase, containers)
        if self._behaviour.job_reads_active_pods and self._fails_job(containers):
            return self._fail("PodFailurePolicy")
        counts = self._behaviour.job_counts_restarts
        counted = counts is not False and (counts or self._policy is RestartPolicy.ON_FAILURE)
        restarts = sum(each["restartCount"] for each in containers)
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
        codes = {
            ended["exitCode"]
            for each in containers
            if (ended := each["state"].get("terminated") or each.get("lastState", {}).get("terminated"))
        }
        return bool(codes & set(self._job.fails_on))

    def _fail(self, reason: str) -> Reaction:
        at_once = self._job.parallelism - self._succeeded
        self._failed += at_once if self._behaviour.job_counts_last else at_once - 1
        self._end = "Failed", reason
        return Reaction.END
