"""Routes events from the channels into the histories of the scenarios that are being recorded."""

import logging
import threading
from collections.abc import Iterable

from crashloop.history.event import Event
from crashloop.kube.watch import PodObject
from crashloop.record.channels.events import Sink
from crashloop.record.history_file import HistoryFile
from crashloop.record.scenario_recording import ScenarioRecording

log = logging.getLogger(__name__)


class EventRouter(Sink):
    """Pods bear the names of their scenarios, so an event finds its scenario even before its pod's uid is known here."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[str, ScenarioRecording] = {}
        self._files: dict[str, HistoryFile] = {}
        self._strangers: set[str] = set()

    def watch(self, scenarios: Iterable[ScenarioRecording]) -> None:
        """From now on, events about these pods are theirs."""
        with self._lock:
            self._watched.update((each.name, each) for each in scenarios)

    def unwatch(self, name: str) -> None:
        """A pod is of no interest any more."""
        with self._lock:
            self._watched.pop(name, None)

    def listen(self, name: str, file: HistoryFile) -> None:
        """A history without a pod that wants what concerns everyone."""
        with self._lock:
            self._files[name] = file

    def unlisten(self, name: str) -> None:
        with self._lock:
            self._files.pop(name, None)

    def met(self, pod: PodObject) -> None:
        """The API has told of a pod; what its status says follows. Here nothing more is to be learnt from it."""

    def find(self, pod: str) -> ScenarioRecording | None:
        """The scenario of a pod; one that is unknown is told of once."""
        with self._lock:
            watched = self._watched.get(pod)
            if watched is None and pod not in self._strangers:
                self._strangers.add(pod)
                log.info("pod %s belongs to no scenario; what happens to it is not recorded", pod)
        return watched

    def on_node(self, node: str) -> list[ScenarioRecording]:
        with self._lock:
            return [each for each in self._watched.values() if each.node.name == node]

    def pod(self, pod: str, event: Event) -> None:
        if (watched := self.find(pod)) is not None:
            watched.take(event)

    def node(self, node: str, event: Event) -> None:
        for watched in self.on_node(node):
            watched.take(event)

    def everyone(self, event: Event) -> None:
        with self._lock:
            watched, files = list(self._watched.values()), list(self._files.values())
        for each in watched:
            each.take(event)
        for file in files:
            file.append(event)
