"""Writes the results of a run and its views into the run directory, and reads them back."""

from crashloop.report.html import to_html
from crashloop.report.junit import to_junit
from crashloop.report.markdown import to_markdown
from crashloop.report.results import RESULTS_FORMAT, Results
from crashloop.rundir import RunDir, read_document


def publish(run: RunDir, results: Results) -> None:
    """Write results.json first, then report.html, junit.xml and summary.md; views of an earlier judgement are replaced."""
    run.write(run.results_json, results)
    run.write_text(run.report_html, to_html(results))
    run.write_text(run.junit_xml, to_junit(results))
    run.write_text(run.summary_md, to_markdown(results))


def published(run: RunDir) -> Results:
    """The results of a judged run. Raises UsageError if there are none, or if they have another format."""
    return read_document(run.results_json, Results, RESULTS_FORMAT)
