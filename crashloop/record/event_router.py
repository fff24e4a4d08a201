"""Routes events from the channels into the histories of the scenarios that are being recorded.

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

from crashloop.history.event import Channel, Event
from crashloop.kube.watch import PodObject
from crashloop.pods.manifest import SCENARIO_LABEL
from crashloop.record.channels.channel import Sink, gap, now_ns
from crashloop.record.pod_recording import PodRecording

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
