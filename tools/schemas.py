"""JSON Schemas of the run directory and of comparisons, generated from the types that read and write them.

`python -m tools.schemas docs/schema` writes them again after a type has changed; a self-test compares.
"""

import argparse
import inspect
import json
from pathlib import Path
from typing import Any

import msgspec

from crashloop.alerts.answer import ALERTS_FORMAT, Alerts
from crashloop.cluster.provider import ClusterInfo
from crashloop.comparison.comparison import COMPARISON_FORMAT, Comparison
from crashloop.comparison.matrix import MATRIX_FORMAT, Matrix
from crashloop.history.event import Event
from crashloop.inference.judging import OBSERVATION_FORMAT, Observation
from crashloop.report.results import RESULTS_FORMAT, Results
from crashloop.rundir import RUN_FORMAT, RecorderState, RunInfo
from crashloop.spec.plan import PLAN_FORMAT, Plan
from crashloop.why.answer import WHY_FORMAT, WhyAnswer

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_DOCUMENTS: dict[str, tuple[type, str, str | None]] = {
    "run": (RunInfo, "run.json", RUN_FORMAT),
    "plan": (Plan, "plan.json", PLAN_FORMAT),
    "cluster": (ClusterInfo, "cluster.json", None),
    "recorder": (RecorderState, "recorder.json", None),
    "history-line": (Event, "a line of history/<scenario>.jsonl", None),
    "observation": (Observation, "observe.json", OBSERVATION_FORMAT),
    "results": (Results, "results.json", RESULTS_FORMAT),
    "alerts": (Alerts, "the output of alerts --json", ALERTS_FORMAT),
    "why": (WhyAnswer, "the output of why --json", WHY_FORMAT),
    "comparison": (Comparison, "the output of compare --json", COMPARISON_FORMAT),
    "matrix": (Matrix, "the output of compare --by version --json", MATRIX_FORMAT),
}
"""Name of the schema: its type, what it describes, and the value of `format` where the document has one."""


def schemas() -> dict[str, dict[str, Any]]:
    """Every schema by name. A document that has a `format` must have exactly the one that the schema is for."""
    return {name: _schema(*document) for name, document in _DOCUMENTS.items()}


def schema_text(schema: dict[str, Any]) -> str:
    """A schema as its file holds it."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _schema(kind: type, describes: str, document_format: str | None) -> dict[str, Any]:
    schema = msgspec.json.schema(kind)
    if document_format is not None:
        main = schema["$defs"][kind.__name__]
        main["properties"]["format"] = {"const": document_format}
        main["required"] = ["format", *main["required"]]
    return {"$schema": DIALECT, "title": f"crashloop: {describes}", **_described(schema)}


def _described(value: Any) -> Any:
    """The schema with docstrings as Python 3.13 keeps them, without their indentation; older ones leave it in."""
    if isinstance(value, dict):
        return {
            key: inspect.cleandoc(each) if key == "description" and isinstance(each, str) else _described(each)
            for key, each in value.items()
        }
    return [_described(each) for each in value] if isinstance(value, list) else value


def main(folder: Path) -> None:
    """Write every schema into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in schemas().items():
        (folder / f"{name}.json").write_text(schema_text(schema), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m tools.schemas", description="Write the JSON Schemas into a folder."
    )
    parser.add_argument("folder", type=Path, help="such as docs/schema")
    main(parser.parse_args().folder)
