"""The run directory of a stress run: that of every run (crashloop.rundir), with further files, its results and their views.

To it belong incidents (interruptions, ended processes, planned disturbances, operations that missed their time), and the rows,
scrapes and lifecycles by which SLOs are judged.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path

import msgspec

from crashloop.errors import UsageError
from crashloop.profiles import read_manifest
from crashloop.report.stress.document import stress_document
from crashloop.report.stress.results import STRESS_RESULTS_FORMAT, StressResults, run_results
from crashloop.requirements import SLO_ROWS, load_requirements
from crashloop.run.analysis import publish, require_judged
from crashloop.rundir import RunDir, read_document
from crashloop.slo.exposition import read_scrapes
from crashloop.slo.measurements import Lifecycle
from crashloop.slo.row_faults import read_rows
from crashloop.slo.rows import SloRow
from crashloop.slo.scrapes import Scrapes
from crashloop.spec.plan import PLAN_FORMAT
from crashloop.stress.assignment import MARKS, Operation, Order, StageMark, read_jsonl
from crashloop.stress.plan import StressPlan


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


class StressDir(RunDir):
    """Paths of one stress run."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.load_dir = root / "load"
        """load.json, stages.jsonl, operations-<worker>.jsonl, and Locust's own log and statistics."""
        self.order_json = self.load_dir / "load.json"
        self.stages_jsonl = self.load_dir / MARKS
        self.metrics_dir = root / "metrics"
        """<source>.jsonl, lifecycles.jsonl: crashloop.measure."""
        self.incidents_jsonl = root / "incidents.jsonl"
        """Deviations from the plan, and planned disturbances."""
        self.slo_json = root / "slo.json"
        """The verdicts and all data of the report."""
        self.costs_json = root / "costs.json"
        """The cost of one restart, for `crashloop predict --costs`."""

    def stress_plan(self) -> StressPlan:
        """Raises UsageError if it is missing, damaged or of another format."""
        return read_document(self.plan_json, StressPlan, PLAN_FORMAT)

    def hosts(self) -> dict[str, str]:
        """Node objects by the names of the plan. Raises UsageError without load.json: the run ended before its load."""
        try:
            return msgspec.json.decode(self.order_json.read_bytes(), type=Order).hosts
        except FileNotFoundError as error:
            raise UsageError(
                f"run directory {self.root}: load/{self.order_json.name} is missing; the run ended before its load began."
            ) from error
        except msgspec.MsgspecError as error:
            raise UsageError(f"run directory {self.root}: load/{self.order_json.name} is damaged ({error}).") from error

    def marks(self) -> tuple[StageMark, ...]:
        return tuple(read_jsonl(self.stages_jsonl, StageMark))

    def incidents(self) -> tuple[Incident, ...]:
        return tuple(read_jsonl(self.incidents_jsonl, Incident))

    def operations(self) -> Iterator[Operation]:
        """The operations of the load, worker by worker."""
        for path in sorted(self.load_dir.glob("operations-*.jsonl")):
            yield from read_jsonl(path, Operation)


def publish_stress(run: StressDir, results: StressResults) -> None:
    """Write slo.json first, then what every run has; costs.json exists only if enough restarts were measured."""
    run.write(run.slo_json, results)
    if results.costs is None:
        run.costs_json.unlink(missing_ok=True)
    else:
        run.write(run.costs_json, results.costs)
    publish(run, run_results(results), stress_document(results))


def published_stress(run: StressDir) -> StressResults:
    """The results of a judged run. Raises UsageError if they are missing or of another format."""
    require_judged(run, run.slo_json)
    return read_document(run.slo_json, StressResults, STRESS_RESULTS_FORMAT)


LIFECYCLES = "lifecycles.jsonl"


def load_rows(*files: str | Path) -> tuple[SloRow, ...]:
    """The rows of files, in their order: names of manifests/slo, or paths (.yaml or with a slash). Without any: all shipped.

    Raises UsageError for a missing or malformed file, for a duplicate id, and for a row that names a requirement which the
    catalogue does not have, or which another row judges.
    """
    rows = [row for file in files or _shipped() for row in _rows(file)]
    ids = [row.id for row in rows]
    twice = sorted({each for each in ids if ids.count(each) > 1})
    if twice:
        raise UsageError(
            f"SLOs {', '.join(twice)}: defined more than once, in {', '.join(str(each) for each in files)}."
        )
    return tuple(rows)


def load_scrapes(folder: Path) -> tuple[Scrapes, ...]:
    """Every source in RUN/metrics. Raises UsageError for a file in another format."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        if path.name != LIFECYCLES:
            with path.open("rb") as lines:
                found.append(read_scrapes(lines, name=str(path)))
    return tuple(found)


def write_lifecycles(folder: Path, lifecycles: Iterable[Lifecycle]) -> None:
    """Write RUN/metrics/lifecycles.jsonl, one pod per line."""
    encode = msgspec.json.Encoder().encode
    (folder / LIFECYCLES).write_bytes(b"".join(encode(each) + b"\n" for each in lifecycles))


def _rows(file: str | Path) -> tuple[SloRow, ...]:
    path, text = read_manifest("SLOs", SLO_ROWS, file, own="rows")
    rows = read_rows(text, name=path.name).slos
    for row in rows:
        fault = None if row.requirement is None else _not_judged_by(row.requirement, row.id)
        if fault is not None:
            raise UsageError(f"{path.name}: {row.id}: {fault}.")
    return rows


def _not_judged_by(name: str, row: str) -> str | None:
    """Why a row cannot judge a requirement; None if it can."""
    requirement = load_requirements().get(name)
    if requirement is None:
        return f"requirement {name!r}: the catalogue does not have it"
    if row not in requirement.slos:
        others = ", ".join(requirement.slos) or "no row"
        return f"requirement {name!r}: the catalogue names {others} for it, not this row"
    return None


def _shipped() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in SLO_ROWS.glob("*.yaml")))
