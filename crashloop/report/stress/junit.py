"""junit.xml of a stress run: one test case per verdict on an SLO or a requirement; reported rows never fail."""

from xml.etree import ElementTree as ET

from crashloop.report.junit import add_case
from crashloop.report.junit_document import JunitDocument
from crashloop.report.standing import Standing
from crashloop.report.stress.requirements import requirement_results
from crashloop.report.stress.results import StressResults
from crashloop.report.text import printable
from crashloop.slo.types import SloVerdict
from crashloop.verdict import Outcome

_ELEMENTS = {Outcome.FAIL: "failure", Outcome.ERROR: "error", Outcome.INCONCLUSIVE: "error"}


def to_stress_junit(results: StressResults) -> str:
    """The file's text."""
    gates = [each for each in results.verdicts if each.mode == "gate"]
    judged = requirement_results(results)
    name = f"crashloop.stress.{results.profile}"
    document = JunitDocument(
        name,
        results,
        subject="profile",
        tests=len(results.verdicts) + len(judged.verdicts),
        failures=sum(1 for each in gates if each.outcome is Outcome.FAIL) + judged.counts[Standing.FAIL],
        errors=sum(1 for each in gates if each.outcome in (Outcome.ERROR, Outcome.INCONCLUSIVE))
        + judged.counts[Standing.ERROR]
        + judged.counts[Standing.INCONCLUSIVE],
        skipped=judged.counts[Standing.SKIPPED],
    )
    for verdict in results.verdicts:
        _add_case(document.suite, name, verdict)
    for each in judged.verdicts:
        add_case(document.suite, name, each, judged)
    return document.text()


def _add_case(suite: ET.Element, suite_name: str, verdict: SloVerdict) -> None:
    case = ET.SubElement(suite, "testcase", {"classname": printable(suite_name), "name": printable(verdict.slo)})
    told = printable("\n".join((verdict.sentence, *verdict.notes)))
    element = _ELEMENTS.get(verdict.outcome)
    if verdict.mode == "gate" and element is not None:
        message = printable(verdict.sentence).replace("\n", " ")
        ET.SubElement(case, element, {"type": verdict.outcome.value, "message": message}).text = told
    else:
        ET.SubElement(case, "system-out").text = f"{verdict.outcome.value} ({verdict.mode})\n{told}"
