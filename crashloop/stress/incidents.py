"""What happened to a run besides its load: interruptions, processes that ended, disturbances on purpose."""

import threading
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

import msgspec


class Cause(StrEnum):
    """What an incident is about."""

    LOAD = "load"
    """The load generator, or a part of it, ended before its time: what was put on is less than was planned."""
    CLUSTER = "cluster"
    """Something of the cluster failed in a way that ended the run."""
    INTERRUPTED = "interrupted"
    """Somebody ended the run."""
    DISTURBANCE = "disturbance"
    """The profile asked for it."""
    LEFT_BEHIND = "left-behind"
    """Objects were still there when the load had taken its own away."""
    LINGERED = "lingered"
    """A stage ended with users or pods that had not gone: the next one began on nodes with load."""
    NOT_REMOVED = "not removed"
    """The run asked for the removal of objects, and they were still there when it ended."""


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """A line of incidents.jsonl."""

    t_ns: int
    cause: Cause
    sentence: str


class Incidents:
    """Writes incidents down and tells them, from any thread."""

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        self._path = path
        self._say = say
        self._lock = threading.Lock()

    def note(self, cause: Cause, sentence: str) -> None:
        incident = Incident(t_ns=time.time_ns(), cause=cause, sentence=sentence)
        with self._lock, self._path.open("ab") as file:
            file.write(msgspec.json.encode(incident) + b"\n")
        self._say(f"{cause.value}: {sentence}")
