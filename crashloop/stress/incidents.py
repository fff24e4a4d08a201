"""Incidents of a run: interruptions, ended processes, planned disturbances, and operations of a load that missed their time."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path

import msgspec

from crashloop.stress.assignment import Operation


class Cause(StrEnum):
    """Cause of an incident."""

    LOAD = "load"
    """The load generator, or a part of it, ended early: the load was less than planned."""
    UNPLACED = "unplaced"
    """Pods that the scheduler was to place were on no node of the run."""
    CLUSTER = "cluster"
    """A failure of the cluster ended the run."""
    INTERRUPTED = "interrupted"
    """The user ended the run."""
    DISTURBANCE = "disturbance"
    """Planned in the profile."""
    LEFT_BEHIND = "left-behind"
    """Objects remained after the load's own removal."""
    LINGERED = "lingered"
    """A stage ended with users or pods left: the next one began on loaded nodes."""
    NOT_REMOVED = "not removed"
    """The run requested the removal of objects, but they remained when it ended."""


CUTS_SHORT = (Cause.LOAD, Cause.INTERRUPTED, Cause.CLUSTER)
"""Causes that may have ended a stage before its time."""


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """A line of incidents.jsonl."""

    t_ns: int
    cause: Cause
    sentence: str


def cuts_ns(incidents: Iterable[Incident]) -> Iterator[int]:
    """When something happened that may have ended a stage before its time."""
    return (each.t_ns for each in incidents if each.cause in CUTS_SHORT)


class Incidents:
    """Writes and logs incidents, from any thread."""

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        self._path = path
        self._say = say
        self._lock = threading.Lock()

    def note(self, cause: Cause, sentence: str) -> None:
        incident = Incident(t_ns=time.time_ns(), cause=cause, sentence=sentence)
        with self._lock, self._path.open("ab") as file:
            file.write(msgspec.json.encode(incident) + b"\n")
        self._say(f"{cause.value}: {sentence}")


_MISSED_STEPS = {"not created": Cause.LOAD, "not deleted": Cause.LINGERED}
"""Steps of the load itself. A pod that did not start is a result of the run, not an incident."""


def misses(operations: Iterable[Operation]) -> Iterator[tuple[Cause, str]]:
    """A cause and a sentence per load and missed step of its objects."""
    missed: defaultdict[tuple[str, str], list[Operation]] = defaultdict(list)
    for each in operations:
        if each.what in _MISSED_STEPS:
            missed[each.load, each.what].append(each)
    for (load, what), found in sorted(missed.items()):
        yield (
            _MISSED_STEPS[what],
            f"load {load}: objects {what} in time: {len(found)}. The first of them: {found[0].error}",
        )
