"""Writes the results of a run and its views into the run directory, and reads them back."""

from pathlib import Path

from crashloop.errors import UsageError
from crashloop.report.conformance import conformance_document
from crashloop.report.document import Document
from crashloop.report.html import to_html
from crashloop.report.junit import to_junit
from crashloop.report.markdown import to_markdown
from crashloop.report.results import RESULTS_FORMAT, Results
from crashloop.rundir import RunDir, read_document


def publish(run: RunDir, results: Results, document: Document | None = None) -> None:
    """Write results.json first, then report.html, junit.xml and summary.md; views of an earlier judgement are replaced.

    `document` is the report. Default: that of a conformance run.
    """
    shown = document or conformance_document(results)
    run.write(run.results_json, results)
    run.write_text(run.report_html, to_html(shown))
    run.write_text(run.junit_xml, to_junit(results))
    run.write_text(run.summary_md, to_markdown(shown))


def require_judged(run: RunDir, results: Path) -> None:
    """Raise UsageError if the run has no such file of results yet."""
    if not results.exists():
        raise UsageError(f"run directory {run.root}: it was not judged yet.\nJudge it: crashloop analyze {run.root}")


def published(run: RunDir) -> Results:
    """The results of a judged run. Raises UsageError if there are none, or if they have another format."""
    require_judged(run, run.results_json)
    return read_document(run.results_json, Results, RESULTS_FORMAT)
