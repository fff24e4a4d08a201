"""One history file: its first line, its last lines, and one complete line per event between them, with positions without holes.

It is append-only, and sealed once.
"""

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from crashloop.history.event import HISTORY_FORMAT, Event, Kind, to_line
from crashloop.record.channels.channel import now_ns, recorder_event
from crashloop.record.channels.host import clock_event, read_clocks
from crashloop.spec.plan import Plan
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import Scenario


class HistoryFile:
    """Written by many threads. Each line reaches the operating system before `append` returns."""

    def __init__(self, path: Path) -> None:
        """Start a history. Raises FileExistsError: evidence is never overwritten."""
        self.path = path
        self._lock = threading.Lock()
        self._file = path.open("xb", buffering=0)
        self._next = 0

    @property
    def is_sealed(self) -> bool:
        return self._file.closed

    def append(self, event: Event) -> bool:
        """Give the event its position and write it; False if the history is sealed."""
        with self._lock:
            if self._file.closed:
                return False
            self._write(event)
            return True

    def seal(self, last: Iterable[Event]) -> None:
        """Write the last events, `end` among them, with nothing in between, and close the file."""
        with self._lock:
            if not self._file.closed:
                for event in last:
                    self._write(event)
                self._file.close()

    def _write(self, event: Event) -> None:
        self._file.write(to_line(msgspec.structs.replace(event, seq=self._next)))
        self._next += 1


def begin_event(
    scenario: Scenario,
    *,
    node: str | None,
    kubernetes_version: str,
    profile: KubeletProfile | None,
    feature_gates: Mapping[str, bool],
) -> Event:
    """The first line. `node` is None without a node, `profile` (the node's) where none is needed.

    `feature_gates` are those that the control plane was started with.
    """
    data = {
        "format": HISTORY_FORMAT,
        "scenario": msgspec.to_builtins(scenario),
        "node": node,
        "kubernetes_version": kubernetes_version,
        "profile": msgspec.to_builtins(profile),
        "feature_gates": dict(feature_gates),
    }
    return recorder_event(Kind.BEGIN, now_ns(), data, node=node)


def start_history(path: Path, begin: Event, *about_node: Event) -> HistoryFile:
    """A history with its first line, the clocks, and the facts about the node. Raises FileExistsError."""
    file = HistoryFile(path)
    for event in (begin, clock_event(read_clocks()), *about_node):
        file.append(event)
    return file


def end_events(reason: str, detail: str, **more: Any) -> tuple[Event, Event]:
    """The last two lines: the clocks, and why the history ends."""
    clocks = clock_event(read_clocks())
    return clocks, recorder_event(Kind.END, now_ns(), {"reason": reason, "detail": detail} | more)


def seal_unrecorded(path: Path, scenario: Scenario, plan: Plan, reason: str, detail: str) -> None:
    """The history of a scenario that was never begun, which says why."""
    file = HistoryFile(path)
    profile = None if scenario.node_profile is None else plan.profile(scenario.node_profile)
    version, gates = plan.kubernetes_version, plan.gates_for(scenario)
    file.append(begin_event(scenario, node=None, kubernetes_version=version, profile=profile, feature_gates=gates))
    file.seal(end_events(reason, detail))
