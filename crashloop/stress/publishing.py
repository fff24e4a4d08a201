"""Writes the results of a stress run and their views into the run directory, and reads the results."""

from crashloop.report.stress.html import to_stress_html
from crashloop.report.stress.junit import to_stress_junit
from crashloop.report.stress.markdown import to_stress_markdown
from crashloop.report.stress.requirements import requirement_results
from crashloop.report.stress.results import STRESS_RESULTS_FORMAT, StressResults
from crashloop.rundir import read_document
from crashloop.stress.folder import StressDir


def publish_stress(run: StressDir, results: StressResults) -> None:
    """Write slo.json first, then results.json, report.html, junit.xml and summary.md; views of an earlier judgement are replaced.

    costs.json exists only if enough restarts were measured.
    """
    run.write(run.slo_json, results)
    run.write(run.results_json, requirement_results(results))
    if results.costs is None:
        run.costs_json.unlink(missing_ok=True)
    else:
        run.write(run.costs_json, results.costs)
    run.write_text(run.report_html, to_stress_html(results))
    run.write_text(run.junit_xml, to_stress_junit(results))
    run.write_text(run.summary_md, to_stress_markdown(results))


def published_stress(run: StressDir) -> StressResults:
    """The results of a judged run. Raises UsageError if they are missing or of another format."""
    return read_document(run.slo_json, StressResults, STRESS_RESULTS_FORMAT)
