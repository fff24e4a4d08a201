"""Interface to the load generator: its assignment (load.json), and the lines that it writes, by which its progress is followed.

The load generator is a process of its own and shares nothing else with the runner: it reads one file and writes lines.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from crashloop.errors import UsageError
from crashloop.stress.loads import AnyLoad
from crashloop.stress.profile import Stage

T = TypeVar("T")

ORDER_FORMAT = "crashloop.load/1"

MARKS = "stages.jsonl"
"""Name of the file with the load generator's progress through the stages."""
READS = ("get", "list", "watch-list")
"""Operations of a canary."""
UNSERVED = (400, 422)
"""HTTP status of an API server that serves no streaming lists: invalid options."""
JOURNALS = "journals"
"""Folder of the logs of containers, as they were read before the removal of their pods."""
PREPARED = "prepared"
"""Name of the file with the index of the last stage for which the runner has prepared the nodes."""
ORDER_VARIABLE = "CRASHLOOP_LOAD"
"""Environment variable with the path of load.json."""
WORKER_VARIABLE = "CRASHLOOP_LOAD_WORKER"
"""Environment variable with the number of the worker; 0 for the only process, or the master."""
JOIN_VARIABLE = "CRASHLOOP_LOAD_JOIN"
"""Environment variable of a worker on another machine: a `Joining`, as JSON."""
FOLDER_VARIABLE = "CRASHLOOP_LOAD_FOLDER"
"""Environment variable with the folder of the user, in which credential plug-ins run, as those of kubectl do."""
WORKERS = "workers.jsonl"
"""Name of the file with the comings and goings of workers on other machines."""
DRAIN_WITHIN_S = 120.0
GONE_WITHIN_S = 90.0
"""On a host of usual speed."""


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
    """Name of the Node object for each node of the profile; its own for one that stands for many."""
    spread: dict[str, str] = {}
    """The Node objects that the only node of the profile stands for: their label kubernetes.io/hostname, by their names."""
    loads: dict[str, AnyLoad]
    stages: tuple[Stage, ...]
    """All rounds spelled out, users as numbers."""
    folder: str
    """Folder of the files with the lines below."""
    ends_after_s: float
    """Longest life of a pod (activeDeadlineSeconds), even if the load generator dies."""
    drain_within_s: float = DRAIN_WITHIN_S
    """Longest end of a stage: deletions, until the watch delivers them."""
    gone_within_s: float = GONE_WITHIN_S
    """Longest time for a deleted object and its pods to disappear; a full node is slow."""
    keeps_journals: bool = False
    """Whether the journals of pods are read before their removal: ground truth where no runtime can be followed."""
    taken_within_s: float = 60.0
    """Longest outage of the API server while objects for a whole stage are made."""
    refused_within_s: float = 10.0
    """How long a refused request is repeated."""
    remote_workers: int = 0
    """Workers of a master that come from other machines; they get this order, and send their lines, as messages."""
    silent_s: float = 30.0
    """Such a worker without a heartbeat for so long has left. Locust's own 3 s are too short for a busy machine."""


class Joining(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker on another machine joins a load."""

    host: str
    port: int
    """Of the master."""
    kubeconfig: str
    context: str | None = None
    within_s: float
    """Longest wait for the master."""


class WorkerLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of workers.jsonl."""

    t_ns: int
    worker: int
    host: str
    what: Literal["came", "left", "surplus", "lost"]
    """left: its connection ended before the load did. surplus: it came when all were there. lost: `count` of its lines are."""
    count: int = 0


class StageMark(msgspec.Struct, frozen=True, kw_only=True):
    """A line of stages.jsonl: progress of a stage."""

    index: int
    stage: str
    arm: str = ""
    what: Literal["begin", "measure", "drain", "end"]
    """begin: users start. measure: all users run and have settled. drain: users stop. end: none is left."""
    t_ns: int
    users: int = 0
    """Present users."""


class Operation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of operations-<worker>.jsonl: one operation of a load, done or missed."""

    load: str
    what: str
    """create, delete, patch, get, list, watch-list, log, endpoints: a call to the API server; watch-list: a streaming list, up to
    the bookmark that ends it. dropped: an arrival with no place left.

    request: an answer of a server, at the last try; intended long before, if it waited. unanswered: a request given up, at
    that time.

    not created, not started, not completed, not deleted: a step that did not happen in time; `error` is a sentence.
    """
    pod: str = ""
    """Name of its object."""
    intended_ns: int | None = None
    """Its intended time by the rate (open model). Of a streaming list that is not served: None, a LIST takes its place."""
    sent_ns: int
    took_ns: int = 0
    code: int = 0
    """HTTP status; 0 if there was no answer."""
    error: str = ""


def journal_path(folder: Path, pod: str, container: str) -> Path:
    """The file with a container's log."""
    return folder / JOURNALS / f"{pod}.{container}.log"


def prepared_stage(folder: Path) -> int:
    """Index of the last stage that was prepared; 0 if none needed it."""
    path = folder / PREPARED
    return int(path.read_text(encoding="ascii")) if path.exists() else 0


def prepare_stage(folder: Path, index: int) -> None:
    """Let the load generator begin a stage that waits for its nodes."""
    written = folder / f"{PREPARED}.new"
    written.write_text(str(index), encoding="ascii")
    written.replace(folder / PREPARED)


def read_jsonl(path: Path, kind: type[T]) -> Iterator[T]:
    """The lines of a file; none if it does not exist. A truncated last line, which a killed process or one that still writes
    leaves, is left out.

    Raises UsageError that names any other damaged line.
    """
    if not path.exists():
        return
    decoder = msgspec.json.Decoder(kind)
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield decoder.decode(line)
            except msgspec.MsgspecError as error:
                if not line.endswith(b"\n"):
                    return
                raise UsageError(f"{path}: line {number} is damaged ({error}).") from error


class Marks:
    """The new lines of stages.jsonl since the last call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._decode = msgspec.json.Decoder(StageMark).decode

    def new(self) -> list[StageMark]:
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            whole, newline, _ = file.read().rpartition(b"\n")
        self._offset += len(whole) + len(newline)
        return [self._decode(line) for line in whole.splitlines()]


class Situation(msgspec.Struct, kw_only=True):
    """Progress of a run, for its status line."""

    stages: tuple[Stage, ...]
    mark: StageMark | None = None
    """The newest one."""
    pods: int = 0
    """Pods there are."""

    def introduction(self, mark: StageMark) -> str:
        """Such as `stage 2 of 3 (storm): measuring for 120 s with 1 healthy, 14 crashers`."""
        stage = self.stages[mark.index]
        loads = ", ".join(f"{count} {name}" for name, count in stage.users.items())
        return f"{self._place(mark)}: measuring for {stage.duration_s:g} s with {loads}"

    def line(self, *, starts_per_s: float | None, now_ns: int) -> str:
        """Such as `stage 2 of 3 (storm): 40 of 120 s, 18 pods, 7.9 container starts/s`; a rate that is not known is left out."""
        if self.mark is None:
            return "load: the generator is starting"
        stage = self.stages[self.mark.index]
        part_s = (now_ns - self.mark.t_ns) / 1e9
        doing = {
            "begin": "users start",
            "measure": f"{min(part_s, stage.duration_s):.0f} of {stage.duration_s:.0f} s",
            "drain": "users stop",
            "end": "over",
        }[self.mark.what]
        rate = "" if starts_per_s is None else f", {starts_per_s:.1f} container starts/s"
        return f"{self._place(self.mark)}: {doing}, {self.pods} pods{rate}"

    def lingering(self, mark: StageMark) -> str:
        """Such as `stage 2 of 3 (storm) ended with 4 users that had not stopped.`"""
        return f"{self._place(mark)} ended with {mark.users} users that had not stopped."

    def _place(self, mark: StageMark) -> str:
        stage = self.stages[mark.index]
        arm = f", {stage.arm}" if stage.arm else ""
        return f"stage {mark.index + 1} of {len(self.stages)} ({stage.label}{arm})"
