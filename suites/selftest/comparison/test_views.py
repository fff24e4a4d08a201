"""Comparisons and matrices as text, page and JSON say the same, and no finding can act on a reader's screen."""

import io
from typing import Any

import jsonschema
import msgspec
import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from crashloop.comparison.comparison import Comparison, compare
from crashloop.comparison.document import comparison_document, matrix_document
from crashloop.comparison.matrix import Matrix, matrix_of
from crashloop.report.document import Document
from crashloop.report.html import to_html
from crashloop.report.markdown import MAX_TABLE_BYTES, to_markdown
from crashloop.report.terminal import render
from crashloop.verdict import Outcome
from suites.selftest.kit.comparison_example import NEWER, OLDER, ON_KIND, RUNS, edited, judged, to
from suites.selftest.kit.snapshots import MarkdownFile, TextFile
from suites.selftest.report.test_html import HOSTILE, Page
from tools.schemas import schemas

COMPARISON = compare(judged(OLDER), judged(NEWER))
ALLOWED = compare(judged(NEWER), judged(ON_KIND))
MATRIX = matrix_of(RUNS)

BROKEN = judged(edited({("CAP-6", "crash-annotated-max-11s"): to(Outcome.FAIL, HOSTILE)}))
HOSTILE_COMPARISON = compare(judged(NEWER), BROKEN)
HOSTILE_MATRIX = matrix_of([BROKEN])


def on_console(document: Document, *, terminal: bool) -> str:
    file = io.StringIO()
    render(document, Console(file=file, force_terminal=terminal, width=140, color_system=None, highlight=False))
    return file.getvalue()


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "log"])
def test_the_console_shows_a_comparison_as_agreed(terminal: bool, snapshot: SnapshotAssertion) -> None:
    text = on_console(comparison_document(COMPARISON), terminal=terminal)
    assert text.encode() == snapshot.use_extension(TextFile)


def test_what_is_allowed_stands_apart_and_by_its_reason() -> None:
    text = on_console(comparison_document(ALLOWED), terminal=False)
    assert "FAULT-1: SKIPPED in the second run: needs capability restart-kubelet;" in text
    assert "\n= 0 differences.\n51 verdicts are the same; 2 are in one run only for a stated reason," in text
    assert "\nWhat to do: Nothing.\n" in text
    assert text.endswith("\nExit code: 0\n")


def test_restarts_that_come_later_are_the_headline_when_they_count() -> None:
    sooner = judged(edited({}, sooner_s={"crash-natural-max-1s": 0.6}))
    comparison = compare(sooner, judged(NEWER), values_count=True)
    text = on_console(comparison_document(comparison), terminal=False)
    assert "\n✗ 0 differences; restarts come later in 2 distributions.\n" in text


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ((Outcome.ERROR,), "a fault of this suite or of its host, and of no kubelet."),
        ((Outcome.ERROR, Outcome.FAIL), "The second run breaks a promise that the first run kept"),
    ],
    ids=["errors", "errors-and-a-failure"],
)
def test_errors_alone_break_no_promise_of_kubernetes(outcomes: tuple[Outcome, ...], said: str) -> None:
    judged_before = [("CAP-6", "crash-annotated-max-11s"), ("BACKOFF-11", "two-containers-stock")]
    edits = dict(zip(judged_before, (to(each, "x") for each in outcomes), strict=False))
    comparison = compare(judged(edited({})), judged(edited(edits)))
    assert said in on_console(comparison_document(comparison), terminal=False)
    assert comparison.exit_code == 1


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "log"])
def test_the_console_shows_a_matrix_as_agreed(terminal: bool, snapshot: SnapshotAssertion) -> None:
    text = on_console(matrix_document(MATRIX), terminal=terminal)
    assert text.encode() == snapshot.use_extension(TextFile)


def test_the_job_summary_of_a_comparison_is_as_agreed(snapshot: SnapshotAssertion) -> None:
    assert to_markdown(comparison_document(COMPARISON)).encode() == snapshot.use_extension(MarkdownFile)


def test_the_job_summary_of_a_matrix_is_as_agreed(snapshot: SnapshotAssertion) -> None:
    assert to_markdown(matrix_document(MATRIX)).encode() == snapshot.use_extension(MarkdownFile)


def test_a_job_summary_of_many_findings_stays_below_what_github_takes() -> None:
    long = edited({(each.requirement, each.scenario): to(Outcome.FAIL, *["x" * 1000] * 50) for each in NEWER.verdicts})
    text = to_markdown(comparison_document(compare(judged(NEWER), judged(long))))
    assert len(text.encode()) < MAX_TABLE_BYTES + 10_000
    assert "more are in the output of --json." in text


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (to_html(comparison_document(COMPARISON)), "5 differences: 5 verdicts of 53 (3 worse, 1 undecided, 1 better)."),
        (to_html(comparison_document(ALLOWED)), "0 differences."),
        (to_html(matrix_document(MATRIX)), "CAP-4 in crash-natural-max-1s: 1 FAIL, 1 PASS (local, Kubernetes 1.37.1)"),
    ],
    ids=["comparison", "no-differences", "matrix"],
)
def test_a_page_is_whole_and_loads_nothing(source: str, said: str) -> None:
    page = Page(source)
    assert said in page.text
    assert page.attributes("src") == []
    assert [each for each in page.attributes("href") if not each.startswith("#")] == ["data:,"]
    ids = page.attributes("id")
    assert len(set(ids)) == len(ids)
    assert set(page.attributes("aria-labelledby")) <= set(ids)


@pytest.mark.parametrize(
    "source",
    [to_html(comparison_document(HOSTILE_COMPARISON)), to_html(matrix_document(HOSTILE_MATRIX))],
    ids=["comparison", "matrix"],
)
def test_no_finding_acts_on_a_page(source: str) -> None:
    page = Page(source)
    assert {"script", "img"} & {tag for tag, _ in page.elements} == set()
    assert "<script>alert(1)</script>" in page.text
    assert "{{ 7*7 }} \\x1b[2J\\x00\\u202e" in page.text


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "log"])
def test_no_finding_acts_on_a_terminal(terminal: bool) -> None:
    text = on_console(comparison_document(HOSTILE_COMPARISON), terminal=terminal)
    assert not set("\x1b\x00\u202e") & set(text)
    assert "<script>alert(1)</script>" in text


@pytest.mark.parametrize(
    "text",
    [to_markdown(comparison_document(HOSTILE_COMPARISON)), to_markdown(matrix_document(HOSTILE_MATRIX))],
    ids=["comparison", "matrix"],
)
def test_no_finding_acts_on_a_job_summary(text: str) -> None:
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert not set("\x1b\x00\u202e") & set(text)


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [("comparison", COMPARISON, Comparison), ("comparison", ALLOWED, Comparison), ("matrix", MATRIX, Matrix)],
    ids=["comparison", "no-differences", "matrix"],
)
def test_json_keeps_to_its_schema_and_can_be_read_back(name: str, value: Any, kind: type) -> None:
    text = msgspec.json.encode(value)
    jsonschema.Draft202012Validator(schemas()[name]).validate(msgspec.json.decode(text))
    assert msgspec.json.decode(text, type=kind) == value
