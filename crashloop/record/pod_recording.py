"""One pod scenario under recording: its history, its pods, and its counts."""

import threading
import time
from collections.abc import Iterable

import msgspec

from crashloop.cluster.provider import Capability, ClusterInfo, Node
from crashloop.history.event import Event, Kind
from crashloop.record.channels.channel import now_ns
from crashloop.record.history_file import HistoryFile
from crashloop.record.pod_progress import (
    SETTLE_S,
    Counts,
    DueSignal,
    JobCounts,
    PodCounts,
    Signals,
    due_ns,
    is_reported,
    missing,
)
from crashloop.spec.scenario import PodScenario


class PodRecording:
    """Events come from any thread; everything else is for the scenario's own steps, one at a time."""

    def __init__(self, scenario: PodScenario, node: Node, cluster: ClusterInfo) -> None:
        self.scenario = scenario
        self.node = node
        self.pods: dict[str, str] = {}
        """Names of all pods of the scenario by their uids, in the order in which they were met."""
        self.pod_deleted = False
        """Whether an intervention has deleted the pod."""
        self.file: HistoryFile | None = None
        self._lock = threading.Lock()
        self._counts = Counts(has_runtime_events=Capability.RUNTIME_EVENTS in cluster.capabilities)
        self._signals = Signals(scenario.pod)
        self._created_ns = 0
        self._created_monotonic_s = 0.0
        self._complete_since_s: float | None = None
        self._quiet_since_s = 0.0
        self._moves = 0
        """Restarts and exits that were seen before the quiet began."""
        self._intervened: set[int] = set()
        self._statuses: dict[str, set[str]] = {}
        """The versions written of each pod, by uid."""
        self._gone: set[str] = set()
        """Uids of pods whose objects are gone."""
        self._job_version = ""
        self._job_has_ended = scenario.job is None

    @property
    def name(self) -> str:
        return self.scenario.name

    @property
    def node_name(self) -> str:
        return self.node.name

    @property
    def newest_pod(self) -> str:
        """Uid of the pod that was met last."""
        return next(reversed(self.pods))

    def joined(self, pod_uid: str, pod: str) -> None:
        """A pod of the scenario was accepted. The scenario's time counts from the first."""
        with self._lock:
            if not self._created_ns:
                self._begin_time()
            self.pods.setdefault(pod_uid, pod)

    def began(self) -> None:
        """The Job was accepted; the scenario's time counts from now."""
        with self._lock:
            self._begin_time()

    def _begin_time(self) -> None:
        self._created_ns, self._created_monotonic_s = now_ns(), time.monotonic()

    def begin(self, file: HistoryFile) -> None:
        """From now on events are written into this file."""
        self.file = file

    def seal(self, last: Iterable[Event]) -> None:
        """End the history with these events, unless it has ended or never began."""
        if self.file is not None:
            self.file.seal(last)

    def take(self, event: Event) -> None:
        """Write an event, and count it if it counts. Before the beginning and after the end there is nothing to write to."""
        if self.file is not None and self.file.append(event):
            with self._lock:
                self._counts.take(event)
                self._signals.take(event)
                if event.kind is Kind.DELETED and event.pod_uid is not None:
                    self._gone.add(event.pod_uid)

    def take_status(self, event: Event, pod_uid: str, status: msgspec.Raw, resource_version: str) -> None:
        """Write a pod's status, unless this version of it was written before.

        A list repeats what the watch sent, and may come after a newer one.
        """
        with self._lock:
            known = self._statuses.setdefault(pod_uid, set())
            if resource_version in known:
                return
            known.add(resource_version)
            self._counts.take_status(pod_uid, msgspec.json.decode(status, type=PodCounts), event.received_ns)
        if self.file is not None:
            self.file.append(event)

    def take_job(self, event: Event, status: JobCounts, resource_version: str) -> None:
        """Write the Job's status, unless this version of it was written before."""
        with self._lock:
            if self._job_version == resource_version:
                return
            self._job_version = resource_version
            self._job_has_ended = status.has_ended
        if self.file is not None:
            self.file.append(event)

    def kept_pods(self) -> list[str]:
        """Uids of the pods whose objects are still there."""
        with self._lock:
            return [uid for uid in self.pods if uid not in self._gone]

    def starts(self, container: str, pod_uid: str) -> int:
        """How often a container has started in a pod."""
        with self._lock:
            return self._counts.starts(container, pod_uid)

    def age_s(self) -> float:
        """Seconds since the first pod was created."""
        return time.monotonic() - self._created_monotonic_s

    def missing(self) -> tuple[str, ...]:
        """What the scenario still waits for."""
        with self._lock:
            job = () if self._job_has_ended else ("the end of the Job",)
            return (*missing(self.scenario.until, self._counts, self.age_s()), *job)

    def is_complete(self) -> bool:
        """Whether all evidence is in, quiet has followed, and the statuses report it too if they come in time."""
        if self.missing():
            return False
        now_s = time.monotonic()
        with self._lock:
            reported, moves = is_reported(self.scenario.until, self._counts), self._counts.moves
        if self._complete_since_s is None:
            self._complete_since_s = self._quiet_since_s = now_s
        if moves != self._moves:
            self._quiet_since_s, self._moves = now_s, moves
        if now_s - self._quiet_since_s < self.scenario.until.quiet_s:
            return False
        return reported or now_s - self._complete_since_s >= SETTLE_S

    def due_signals(self) -> list[DueSignal]:
        """Signals that containers want from the node by now, each once."""
        with self._lock:
            return self._signals.due(now_ns())

    def before_pod(self) -> list[int]:
        """Indices of the interventions that come before the pod."""
        return [index for index, each in enumerate(self.scenario.interventions) if each.trigger.before_pod]

    def due_interventions(self) -> list[int]:
        """Indices of the interventions that have become due since the pod was created, each once."""
        with self._lock:
            due = [
                index
                for index, each in enumerate(self.scenario.interventions)
                if index not in self._intervened
                and (at_ns := due_ns(each.trigger, created_ns=self._created_ns, counts=self._counts)) is not None
                and at_ns <= now_ns()
            ]
        self._intervened.update(due)
        return due
