"""The schemas and the description of the run directory are those of the code, and real documents keep to them."""

from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from crashloop.cluster.provider import Capability, ClusterInfo, Node
from crashloop.history.event import HISTORY_FORMAT, Channel, Clock, Event, Kind
from crashloop.report.curves import ReportedDelay
from crashloop.report.results import Results
from crashloop.report.standing import Standing
from crashloop.run.analysis import publish, published
from crashloop.rundir import RecorderState, RunDir
from crashloop.verdict import ExitCode, Outcome, Verdict
from suites.selftest.kit.report_example import INFO, PLAN, VERDICTS, example_results
from tools.schemas import schema_text, schemas

DOCS = Path(__file__).parents[3] / "docs"
SCHEMAS = schemas()

EVENTS = (
    Event(
        seq=0,
        t_ns=1_795_276_812_000_000_000,
        received_ns=1_795_276_812_000_000_000,
        channel=Channel.RECORDER,
        kind=Kind.BEGIN,
        data={"format": HISTORY_FORMAT, "scenario": msgspec.to_builtins(PLAN.scenarios[0])},
    ),
    Event(
        seq=1,
        t_ns=712_340_000_000,
        clock=Clock.BOOT,
        resolution_ns=10_000_000,
        received_ns=1_795_276_813_000_000_000,
        channel=Channel.JOURNAL,
        kind=Kind.EXITED,
        node="stock",
        pod_uid="7e5c",
        container="app",
        instance=0,
        data={"exit_code": 1, "line": "exit 1 7123.40"},
    ),
)
DOCUMENTS: dict[str, tuple[str, Any]] = {
    "run": ("run", INFO),
    "plan": ("plan", PLAN),
    "results": ("results", example_results()),
    "results-of-nothing": ("results", example_results(())),
    "first-line": ("history-line", EVENTS[0]),
    "journal-line": ("history-line", EVENTS[1]),
    "recorder": ("recorder", RecorderState(state="failed", pid=41, error="no containerd", error_kind="prerequisite")),
    "cluster": (
        "cluster",
        ClusterInfo(
            name="c",
            provider="local",
            kubernetes_version="1.37.1",
            kubeconfig="kubeconfig",
            nodes=(Node(name="stock", profile="stock"),),
            capabilities=frozenset(Capability),
            image="crashloop/program:1",
        ),
    ),
}


def validate(document: Any, name: str) -> None:
    jsonschema.Draft202012Validator(SCHEMAS[name]).validate(document)


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_schema_is_one_and_stands_in_the_docs(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    written = (DOCS / "schema" / f"{name}.json").read_text(encoding="utf-8")
    assert written == schema_text(SCHEMAS[name]), "run: python -m tools.schemas docs/schema"


def test_no_schema_is_left_over_from_an_older_format() -> None:
    assert {path.stem for path in (DOCS / "schema").iterdir()} == set(SCHEMAS)


@pytest.mark.parametrize("example", DOCUMENTS)
def test_documents_keep_to_their_schema(example: str) -> None:
    name, document = DOCUMENTS[example]
    validate(msgspec.json.decode(msgspec.json.encode(document)), name)


@pytest.mark.parametrize("name", ["run", "plan", "results"])
def test_a_document_of_a_newer_format_does_not_keep_to_the_schema(name: str) -> None:
    document = msgspec.to_builtins(DOCUMENTS[name][1])
    with pytest.raises(jsonschema.ValidationError, match="was expected"):
        validate({**document, "format": f"crashloop.{name}/2"}, name)


def test_an_outcome_that_does_not_exist_does_not_keep_to_the_schema() -> None:
    document = msgspec.json.decode(msgspec.json.encode(example_results()))
    document["verdicts"][0]["outcome"] = "MAYBE"
    with pytest.raises(jsonschema.ValidationError, match="'MAYBE' is not one of"):
        validate(document, "results")


def test_what_is_published_can_be_read_back_and_published_anew(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path / "run", INFO)
    for results in (example_results(), example_results(VERDICTS[:3])):
        publish(run, results)
        assert published(run).counts == results.counts
        validate(msgspec.json.decode(run.results_json.read_bytes()), "results")
    for view in (run.report_html, run.junit_xml, run.summary_md):
        text = view.read_text(encoding="utf-8")
        assert "crash-natural-stock" in text
        assert "0.62 s after the exit" not in text
    assert sorted(path.name for path in run.root.iterdir()) == [
        "history", "junit.xml", "report.html", "results.json", "run.json", "summary.md",
    ]  # fmt: skip


def names_of_run_directory() -> list[str]:
    run = RunDir(Path("RUN"))
    paths = [value for value in vars(run).values() if isinstance(value, Path) and value != run.root]
    return [path.name for path in paths]


def fields(kind: type) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(kind)]


DESCRIBED: list[tuple[str, list[str]]] = [
    ("run-directory.md", [*(f"{name}/" if "." not in name else name for name in names_of_run_directory())]),
    ("run-directory.md", [f"`{name}`" for name in fields(Event)]),
    ("run-directory.md", [f"| `{kind}` |" for kind in Kind]),
    ("run-directory.md", [f"| `{channel}` |" for channel in Channel]),
    ("run-directory.md", [f"`{name}`" for name in fields(Results)]),
    ("run-directory.md", [f"`{name}`" for name in (*fields(RecorderState), *fields(ReportedDelay))]),
    ("reading-a-verdict.md", [f"**{outcome}**" for outcome in Outcome]),
    ("reading-a-verdict.md", [standing.label for standing in Standing]),
    ("reading-a-verdict.md", fields(Verdict)),
    ("reading-a-verdict.md", [f"| {code} |" for name, code in vars(ExitCode).items() if name.isupper()]),
]


@pytest.mark.parametrize(
    ("page", "names"),
    DESCRIBED,
    ids=["files", "event", "kinds", "channels", "results", "rows", "outcomes", "standings", "verdict", "exit-codes"],
)
def test_the_docs_name_everything_that_the_code_has(page: str, names: list[str]) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert names
    assert [name for name in names if name not in text] == []
