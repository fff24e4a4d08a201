"""The run directory of a stress run: that of every run (crashloop.rundir), and what only stress runs have."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from crashloop.rundir import RunDir, read_document
from crashloop.stress.assignment import MARKS, Operation, StageMark
from crashloop.stress.incidents import Incident
from crashloop.stress.plan import STRESS_PLAN_FORMAT, StressPlan

SUITE = "stress"

T = TypeVar("T")


class StressDir(RunDir):
    """Paths of one stress run."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.stress_json = root / "stress.json"
        """StressPlan: the profile as resolved."""
        self.load_dir = root / "load"
        """load.json, stages.jsonl, operations-<worker>.jsonl, and Locust's own log and statistics."""
        self.order_json = self.load_dir / "load.json"
        self.stages_jsonl = self.load_dir / MARKS
        self.metrics_dir = root / "metrics"
        """<source>.jsonl, lifecycles.jsonl: crashloop.measure."""
        self.incidents_jsonl = root / "incidents.jsonl"
        """What went another way than planned, and what was done on purpose."""
        self.slo_json = root / "slo.json"
        """The verdicts and all that the report is drawn from."""
        self.costs_json = root / "costs.json"
        """What one restart cost, for `crashloop predict --costs`."""

    def stress_plan(self) -> StressPlan:
        """Raises UsageError if it is missing, damaged or of another format."""
        return read_document(self.stress_json, StressPlan, STRESS_PLAN_FORMAT)

    def marks(self) -> tuple[StageMark, ...]:
        return tuple(read_jsonl(self.stages_jsonl, StageMark))

    def incidents(self) -> tuple[Incident, ...]:
        return tuple(read_jsonl(self.incidents_jsonl, Incident))

    def operations(self) -> Iterator[Operation]:
        """What the load did, worker by worker."""
        for path in sorted(self.load_dir.glob("operations-*.jsonl")):
            yield from read_jsonl(path, Operation)


def read_jsonl(path: Path, kind: type[T]) -> Iterator[T]:
    """The whole lines of a file; nothing if it is not there. A line that was cut off is left out."""
    if not path.exists():
        return
    decoder = msgspec.json.Decoder(kind)
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield decoder.decode(line)
