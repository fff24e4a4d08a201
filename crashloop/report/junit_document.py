"""The common parts of every junit.xml: one suite with its totals, and properties that identify the run."""

from datetime import datetime
from typing import Protocol
from xml.etree import ElementTree as ET

from crashloop.report.text import printable


class Judged(Protocol):
    """The circumstances in the results of any run."""

    @property
    def started(self) -> datetime: ...
    @property
    def finished(self) -> datetime: ...


class JunitDocument:
    """The file; test cases are added to `suite`."""

    def __init__(
        self, name: str, results: Judged, *, subject: str, tests: int, failures: int, errors: int, skipped: int
    ) -> None:
        """`subject` is the property of the judged subject: scope, or profile."""
        totals = {
            "tests": str(tests),
            "failures": str(failures),
            "errors": str(errors),
            "skipped": str(skipped),
            "time": f"{(results.finished - results.started).total_seconds():.3f}",
        }
        self._root = ET.Element("testsuites", {"name": "crashloop", **totals})
        about = {"name": name, **totals, "timestamp": results.started.isoformat()}
        self.suite = ET.SubElement(self._root, "testsuite", about)
        properties = ET.SubElement(self.suite, "properties")
        for key in ("run", "provider", "kubernetes_version", subject, "outcome", "exit_code", "crashloop_version"):
            ET.SubElement(properties, "property", {"name": key, "value": printable(str(getattr(results, key)))})

    def text(self) -> str:
        """The file's text."""
        ET.indent(self._root)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(self._root, encoding="unicode")}\n'
