"""What happened to a run besides its load: interruptions, processes that ended, disturbances on purpose. Pure data."""

from enum import StrEnum

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


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """A line of incidents.jsonl."""

    t_ns: int
    cause: Cause
    sentence: str
