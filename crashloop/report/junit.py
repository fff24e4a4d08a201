"""junit.xml, for CI systems that list tests.

JUnit knows failure, error and skipped. FAIL is a failure; INCONCLUSIVE is an error, so that missing evidence does not read
as a pass; a known deviation and a reported verdict pass, with a note in their output.
"""

from xml.etree import ElementTree as ET

from crashloop.report.junit_document import JunitDocument
from crashloop.report.results import Results
from crashloop.report.standing import Standing, reported
from crashloop.report.text import evidence_text, printable
from crashloop.verdict import Verdict

_ELEMENTS = {
    Standing.FAIL: "failure",
    Standing.ERROR: "error",
    Standing.INCONCLUSIVE: "error",
    Standing.SKIPPED: "skipped",
}


def to_junit(results: Results) -> str:
    """One test case per verdict; its class is the requirement, its name the scenario and the profile."""
    name = f"crashloop.{results.suite}"
    document = JunitDocument(
        name,
        results,
        subject="scope",
        tests=len(results.verdicts),
        failures=results.counts[Standing.FAIL],
        errors=results.counts[Standing.ERROR] + results.counts[Standing.INCONCLUSIVE],
        skipped=results.counts[Standing.SKIPPED],
    )
    for verdict in results.verdicts:
        add_case(document.suite, name, verdict, results)
    return document.text()


def add_case(suite: ET.Element, suite_name: str, verdict: Verdict, results: Results) -> None:
    """Add the test case of a verdict."""
    standing = Standing.of(verdict)
    case = ET.SubElement(
        suite,
        "testcase",
        {
            "classname": printable(f"{suite_name}.{verdict.requirement}"),
            "name": printable(f"{verdict.scenario} [{verdict.profile}]"),
        },
    )
    if standing in _ELEMENTS:
        message = verdict.findings[0] if verdict.findings else standing.label
        outcome = ET.SubElement(
            case, _ELEMENTS[standing], {"type": standing.value, "message": printable(message).replace("\n", " ")}
        )
        outcome.text = printable(_explained(verdict, results))
    elif standing is Standing.DEVIATION:
        known = next(each for each in results.deviations if each.id == verdict.deviation)
        said = [
            f"Known deviation {known.id}: {known.sentence} {known.link or ''}".strip(),
            _explained(verdict, results),
        ]
        ET.SubElement(case, "system-out").text = printable("\n".join(said))
    elif standing is Standing.REPORTED:
        ET.SubElement(case, "system-out").text = printable(f"{reported(verdict)}\n{_explained(verdict, results)}")


def _explained(verdict: Verdict, results: Results) -> str:
    requirement = results.requirement(verdict.requirement)
    sources = evidence_text(verdict.evidence)
    parts = [
        f"{requirement.id}: {requirement.sentence}".removesuffix(": "),
        *verdict.findings,
        f"Evidence: {sources}." if sources else "",
    ]
    return "\n".join(filter(None, parts))
