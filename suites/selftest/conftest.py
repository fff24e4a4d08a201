"""Self-tests do not fail because a machine is busy, and say at their end what they have proven."""

from typing import Any

from hypothesis import settings

from suites.selftest.kit import proof

settings.register_profile("crashloop", parent=settings(), deadline=None)
settings.load_profile("crashloop")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The fault matrix and the count of false alarms."""
    reports = [*terminalreporter.stats.get("passed", ()), *terminalreporter.stats.get("failed", ())]
    for line in proof.lines(reports):
        terminalreporter.write_line(line)
