"""What the runner hands to the load generator (load.json), and what that writes down. Pure data.

The load generator is a process of its own and shares nothing else with the runner: it reads one file and writes lines.
"""

from typing import Literal

import msgspec

from crashloop.stress.loads import AnyLoad
from crashloop.stress.profile import Stage

ORDER_FORMAT = "crashloop.load/1"

MARKS = "stages.jsonl"
"""Name of the file in which the load generator writes down how far its stages are."""
ORDER_VARIABLE = "CRASHLOOP_LOAD"
"""Environment variable with the path of load.json."""
WORKER_VARIABLE = "CRASHLOOP_LOAD_WORKER"
"""Environment variable with the number of the worker; 0 for the only process, or the master."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """load.json."""

    format: str = ORDER_FORMAT
    kubeconfig: str
    context: str | None = None
    namespace: str
    run: str
    """Value of the run's label."""
    image: str
    hosts: dict[str, str]
    """Name of the Node object for each node of the profile."""
    loads: dict[str, AnyLoad]
    stages: tuple[Stage, ...]
    """All rounds spelled out, users as numbers."""
    folder: str
    """Where the lines below are written."""
    ends_after_s: float
    """No pod lives longer than this (activeDeadlineSeconds), whatever becomes of who made it."""
    drain_within_s: float = 120.0
    """How long the end of a stage may take: deletions, and waiting until the watch tells of them."""
    gone_within_s: float = 90.0
    """How long an object that was deleted may take to be gone with its pods; a full node takes its time."""
    taken_within_s: float = 60.0
    """How long the API server may be away when something is made that is to stay for the whole stage."""


class StageMark(msgspec.Struct, frozen=True, kw_only=True):
    """A line of stages.jsonl: how far a stage has come."""

    index: int
    stage: str
    arm: str = ""
    what: Literal["begin", "measure", "drain", "end"]
    """begin: users come. measure: all are there and have settled. drain: users go. end: none is left."""
    t_ns: int
    users: int = 0
    """Users there are."""


class Operation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of operations-<worker>.jsonl: one thing that a load did, or was to do."""

    load: str
    what: str
    """create, delete, patch, request: a call to the API server. dropped: an arrival with no place left.

    not created, not started, not completed, not deleted: a step that did not come in time; `error` is a sentence.
    """
    pod: str = ""
    """Name of the object it was about."""
    intended_ns: int | None = None
    """When it was to happen by the rate (open model)."""
    sent_ns: int
    took_ns: int = 0
    code: int = 0
    """HTTP status; 0 if there was no answer."""
    error: str = ""
