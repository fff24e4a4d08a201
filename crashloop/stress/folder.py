"""The run directory of a stress run: that of every run (crashloop.rundir), with further files, its results and their views."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from crashloop.errors import UsageError
from crashloop.report.stress.document import stress_document
from crashloop.report.stress.results import STRESS_RESULTS_FORMAT, StressResults, run_results
from crashloop.run.analysis import publish, require_judged
from crashloop.rundir import RunDir, read_document
from crashloop.spec.plan import PLAN_FORMAT
from crashloop.stress.assignment import MARKS, Operation, Order, StageMark
from crashloop.stress.incidents import Incident
from crashloop.stress.plan import StressJson, StressPlan

STRESS_JSON_FORMAT = "crashloop.stress-plan/1"

T = TypeVar("T")


class StressDir(RunDir):
    """Paths of one stress run."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.stress_json = root / "stress.json"
        """The plan, as earlier versions wrote it."""
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
        if self.stress_json.exists():
            return read_document(self.stress_json, StressJson, STRESS_JSON_FORMAT).plan
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
