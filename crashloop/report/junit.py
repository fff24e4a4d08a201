"""junit.xml, from results alone.

JUnit knows failure, error and skipped. FAIL is a failure; INCONCLUSIVE is an error, so that missing evidence does not read
as a pass; a known deviation and a reported verdict pass, with a note in their output.
"""

from collections.abc import Mapping
from xml.etree import ElementTree as ET

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
_PROPERTIES = ("run", "provider", "kubernetes_version", "scope", "outcome", "exit_code", "crashloop_version")


def to_junit(results: Results, causes: Mapping[tuple[str, str, str], str] | None = None) -> str:
    """One test case per verdict; its class is the requirement or SLO, its name the scenario and the profile.

    `causes`: what caused it, for what needs attention, by requirement, scenario and profile.
    """
    name = f"crashloop.{results.suite}"
    totals = {
        "tests": str(len(results.verdicts)),
        "failures": str(results.counts[Standing.FAIL]),
        "errors": str(results.counts[Standing.ERROR] + results.counts[Standing.INCONCLUSIVE]),
        "skipped": str(results.counts[Standing.SKIPPED]),
        "time": f"{(results.finished - results.started).total_seconds():.3f}",
    }
    # Jenkins' junit-10.xsd has no "skipped" here.
    of_all = {key: number for key, number in totals.items() if key != "skipped"}
    root = ET.Element("testsuites", {"name": "crashloop", **of_all})
    suite = ET.SubElement(root, "testsuite", {"name": name, **totals, "timestamp": results.started.isoformat()})
    properties = ET.SubElement(suite, "properties")
    for key in _PROPERTIES:
        ET.SubElement(properties, "property", {"name": key, "value": printable(str(getattr(results, key)))})
    for verdict in results.verdicts:
        _add_case(suite, name, verdict, results, causes or {})
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _add_case(
    suite: ET.Element, suite_name: str, verdict: Verdict, results: Results, causes: Mapping[tuple[str, str, str], str]
) -> None:
    standing = Standing.of(verdict)
    about = {
        "classname": printable(f"{suite_name}.{verdict.requirement}"),
        "name": printable(f"{verdict.scenario} [{verdict.profile}]"),
    }
    case = ET.SubElement(suite, "testcase", about)
    caused = causes.get((verdict.requirement, verdict.scenario, verdict.profile), "")
    explained = printable("\n".join(filter(None, (caused, _note(verdict, results), _explained(verdict, results)))))
    if standing in _ELEMENTS:
        message = printable(verdict.findings[0] if verdict.findings else standing.label).replace("\n", " ")
        ET.SubElement(case, _ELEMENTS[standing], {"type": standing.value, "message": message}).text = explained
    elif standing is not Standing.PASS or verdict.findings:
        ET.SubElement(case, "system-out").text = explained


def _note(verdict: Verdict, results: Results) -> str:
    """Why a verdict other than PASS does not fail the run."""
    if verdict.deviation is None:
        return reported(verdict)
    known = next(each for each in results.deviations if each.id == verdict.deviation)
    return f"Known deviation {known.id}: {known.sentence} {known.link or ''}".strip()


def _explained(verdict: Verdict, results: Results) -> str:
    requirement = results.requirement(verdict.requirement)
    sources = evidence_text(verdict.evidence)
    parts = [
        f"{requirement.id}: {requirement.sentence}".removesuffix(": "),
        *verdict.findings,
        f"Evidence: {sources}." if sources else "",
    ]
    return "\n".join(filter(None, parts))
