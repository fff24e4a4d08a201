"""Writes the results of a stress run and their views into the run directory, and reads the results."""

from crashloop.report.stress.document import stress_document
from crashloop.report.stress.results import STRESS_RESULTS_FORMAT, StressResults, run_results
from crashloop.run.publish import publish, require_judged
from crashloop.rundir import read_document
from crashloop.stress.folder import StressDir


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
