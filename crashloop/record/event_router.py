"""Scenarios of pods that are being recorded, each with its history, its pods and its counts; and which of them gets an event.

Theory of operation. A pod belongs to the scenario that its label names, and is known by its uid: from the answer to its
creation, or from the first report of the API. Earlier events of other channels are held back until then. An event that no
scenario has claimed after HELD_S seconds belongs to none, which is logged once per pod. If its pod is claimed later all the
same, the history states the dropped events as a gap.
"""

import logging
import threading
import time
from collections.abc import Iterable
from typing import Protocol

import msgspec

from crashloop.cluster.provider import Capability, ClusterInfo, Node
from crashloop.history.event import Channel, Event, Kind
from crashloop.kube.watch import PodObject
from crashloop.pods.manifest import SCENARIO_LABEL
from crashloop.record.channels.channel import Sink, gap, now_ns
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
        # Asked ten times a second; the age is cheap to ask.
        if self.age_s() < self.scenario.until.at_least_s or self.missing():
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


HELD_S = 30.0
"""How long an event waits for its pod to be claimed: a watch whose connection broke is back by then."""
HELD_EVENTS = 5000
"""Events that wait at once, over all pods."""

log = logging.getLogger(__name__)


class Listener(Protocol):
    """A scenario without pods that wants what concerns its node, if it has one, and everyone."""

    @property
    def name(self) -> str: ...

    @property
    def node_name(self) -> str | None: ...

    def take(self, event: Event) -> None: ...


class _Unclaimed:
    """What was said about a pod that belongs to no scenario so far."""

    def __init__(self, pod: str) -> None:
        self.pod = pod
        self.since_s = time.monotonic()
        self.is_stranger = False
        self.events: list[Event] = []
        self.dropped_ns: dict[Channel, int] = {}
        """When the first event of each channel was dropped."""

    def drop(self, event: Event) -> None:
        self.dropped_ns.setdefault(event.channel, event.received_ns)

    def give_up(self) -> None:
        """Hold nothing back any more."""
        for event in self.events:
            self.drop(event)
        self.events = []
        if not self.is_stranger:
            log.info("pod %s belongs to no scenario; what happens to it is not recorded", self.pod)
        self.is_stranger = True

    def gaps(self) -> list[Event]:
        """Gaps for its scenario, if it has one after all."""
        reason = f"the pod {self.pod} was known too late"
        return [
            gap(channel, from_ns=from_ns, to_ns=now_ns(), reason=reason) for channel, from_ns in self.dropped_ns.items()
        ]


class EventRouter(Sink):
    """Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[str, PodRecording] = {}
        self._listening: dict[str, Listener] = {}
        self._owners: dict[str, str] = {}
        """Name of the scenario by the pod's uid."""
        self._unclaimed: dict[str, _Unclaimed] = {}
        """By the pod's uid."""

    def watch(self, scenarios: Iterable[PodRecording]) -> None:
        """From now on, pods that bear the names of these scenarios in their labels are theirs."""
        with self._lock:
            self._watched.update((each.name, each) for each in scenarios)

    def unwatch(self, name: str) -> None:
        """A scenario takes nothing more."""
        with self._lock:
            self._watched.pop(name, None)

    def listen(self, scenario: Listener) -> None:
        """From now on, what concerns the scenario's node and everyone is its."""
        with self._lock:
            self._listening[scenario.name] = scenario

    def unlisten(self, name: str) -> None:
        with self._lock:
            self._listening.pop(name, None)

    def claim(self, uid: str, pod: str, scenario: str) -> None:
        """A pod belongs to a scenario, which now gets what was held back."""
        with self._lock:
            if uid in self._owners:
                return
            self._owners[uid] = scenario
            waiting = self._unclaimed.pop(uid, None)
            watched = self._watched.get(scenario)
            if watched is None:
                return
            watched.joined(uid, pod)
            # Under the lock, so that nothing that comes meanwhile overtakes it.
            for event in (*waiting.gaps(), *waiting.events) if waiting is not None else ():
                watched.take(event)

    def met(self, pod: PodObject) -> PodRecording | None:
        """Take the API's report of a pod; the recording of its scenario, if there is one."""
        about, uid = pod.metadata, pod.metadata.pod_uid
        scenario = about.labels.get(SCENARIO_LABEL)
        with self._lock:
            is_known, is_watched = uid in self._owners, scenario in self._watched
        if scenario is not None and is_watched and not is_known:
            self.claim(uid, about.name, scenario)
        with self._lock:
            watched = self._of(uid)
            if watched is None and uid not in self._owners:
                self._unclaimed.setdefault(uid, _Unclaimed(about.name)).give_up()
        return watched

    def on_node(self, node: str) -> list[Listener]:
        """All scenarios on a node."""
        with self._lock:
            each: list[Listener] = [*self._watched.values(), *self._listening.values()]
        return [scenario for scenario in each if scenario.node_name == node]

    def pod(self, pod: str, event: Event) -> None:
        assert event.pod_uid is not None, event
        with self._lock:
            watched = self._of(event.pod_uid)
            if watched is None and event.pod_uid not in self._owners:
                self._hold(pod, event.pod_uid, event)
        if watched is not None:
            watched.take(event)

    def node(self, node: str, event: Event) -> None:
        for scenario in self.on_node(node):
            scenario.take(event)

    def everyone(self, event: Event) -> None:
        with self._lock:
            self._give_up_old()
            each: list[Listener] = [*self._watched.values(), *self._listening.values()]
        for scenario in each:
            scenario.take(event)

    def _of(self, uid: str) -> PodRecording | None:
        return self._watched.get(self._owners.get(uid, ""))

    def _hold(self, pod: str, uid: str, event: Event) -> None:
        waiting = self._unclaimed.setdefault(uid, _Unclaimed(pod))
        if waiting.is_stranger or sum(len(each.events) for each in self._unclaimed.values()) >= HELD_EVENTS:
            waiting.drop(event)
        else:
            waiting.events.append(event)
        self._give_up_old()

    def _give_up_old(self) -> None:
        for each in self._unclaimed.values():
            if not each.is_stranger and time.monotonic() - each.since_s >= HELD_S:
                each.give_up()
