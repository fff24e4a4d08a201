"""One pod scenario under recording: its history, its counts, and its stage."""

import threading
import time
from enum import Enum, auto
from pathlib import Path
from typing import Any

import msgspec

from crashloop.cluster.provider import Capability, ClusterInfo, Node
from crashloop.history.event import HISTORY_FORMAT, Event, Kind
from crashloop.record.channels.events import now_ns, recorder_event
from crashloop.record.channels.host import clock_event, read_clocks
from crashloop.record.completion import SETTLE_S, is_told, missing
from crashloop.record.counts import Counts, PodCounts
from crashloop.record.history_file import HistoryFile
from crashloop.record.schedule import due_ns
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import PodScenario, Scenario


class ScenarioStage(Enum):
    """How far a scenario has come. Only the director of its wave moves it on."""

    PLANNED = auto()
    LAUNCHING = auto()
    WATCHED = auto()
    FINISHING = auto()
    SEALED = auto()


def begin_event(scenario: Scenario, *, node: str | None, kubernetes_version: str, profile: KubeletProfile) -> Event:
    """The first line of a history."""
    data = {
        "format": HISTORY_FORMAT,
        "scenario": msgspec.to_builtins(scenario),
        "node": node,
        "kubernetes_version": kubernetes_version,
        "profile": msgspec.to_builtins(profile),
    }
    return recorder_event(Kind.BEGIN, now_ns(), data, node=node)


def end_events(reason: str, detail: str, **more: Any) -> tuple[Event, Event]:
    """The last two lines of a history: the clocks, and why it ends."""
    clocks = clock_event(read_clocks())
    return clocks, recorder_event(Kind.END, now_ns(), {"reason": reason, "detail": detail} | more)


class ScenarioRecording:
    """Events come from any thread; everything else is for the director."""

    def __init__(self, scenario: PodScenario, node: Node, cluster: ClusterInfo, profile: KubeletProfile) -> None:
        self.scenario = scenario
        self.node = node
        self.stage = ScenarioStage.PLANNED
        self.pod_uids: list[str] = []
        """Of all pods of the scenario; the last is the one there is now."""
        self.file: HistoryFile | None = None
        self._cluster = cluster
        self._profile = profile
        self._lock = threading.Lock()
        self._counts = Counts(has_runtime_events=Capability.RUNTIME_EVENTS in cluster.capabilities)
        self._created_ns = 0
        self._created_monotonic_s = 0.0
        self._complete_since_s: float | None = None
        self._intervened: set[int] = set()
        self._statuses: dict[str, str] = {}

    @property
    def name(self) -> str:
        return self.scenario.name

    def begin(self, path: Path, *about_node: Event) -> None:
        """Start the history, with what is known of the node."""
        begin = begin_event(
            self.scenario,
            node=self.node.name,
            kubernetes_version=self._cluster.kubernetes_version,
            profile=self._profile,
        )
        self.file = HistoryFile(path)
        for event in (begin, clock_event(read_clocks()), *about_node):
            self.file.append(event)

    def created(self, pod_uid: str) -> None:
        """A pod was accepted. The scenario's time counts from the first."""
        if not self.pod_uids:
            self._created_ns, self._created_monotonic_s = now_ns(), time.monotonic()
        self.pod_uids.append(pod_uid)

    def take(self, event: Event) -> None:
        """Write an event, and count it if it counts. Before the beginning and after the end there is nothing to write to."""
        if self.file is not None and self.file.append(event):
            with self._lock:
                self._counts.take(event)

    def take_status(self, event: Event, pod_uid: str, status: msgspec.Raw, resource_version: str) -> None:
        """Write a pod's status, unless this version of it was written before (a list repeats what the watch told)."""
        with self._lock:
            if self._statuses.get(pod_uid) == resource_version:
                return
            self._statuses[pod_uid] = resource_version
            self._counts.take_status(pod_uid, msgspec.json.decode(status, type=PodCounts), event.received_ns)
        if self.file is not None:
            self.file.append(event)

    def starts(self, container: str) -> int:
        """How often a container has started in the pod there is now."""
        with self._lock:
            return self._counts.starts(container, self.pod_uids[-1])

    def age_s(self) -> float:
        """Seconds since the first pod was created."""
        return time.monotonic() - self._created_monotonic_s

    def missing(self) -> tuple[str, ...]:
        """What the scenario still waits for."""
        with self._lock:
            return missing(self.scenario.until, self._counts, self.age_s())

    def is_complete(self) -> bool:
        """Whether all evidence is in, and told by the statuses too if they come in time."""
        if self.missing():
            return False
        if self._complete_since_s is None:
            self._complete_since_s = time.monotonic()
        watched_s = time.monotonic() - self._complete_since_s
        if watched_s < self.scenario.until.quiet_s:
            return False
        with self._lock:
            told = is_told(self.scenario.until, self._counts)
        return told or watched_s >= SETTLE_S

    def due_interventions(self) -> list[int]:
        """Indices of the interventions that have become due, each once."""
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
