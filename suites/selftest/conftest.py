"""Self-tests do not fail because a machine is busy or a shell unusual, and say at their end what they have proven."""

import os
from typing import Any

from hypothesis import settings

from suites.selftest.kit import proof

settings.register_profile("crashloop", parent=settings(), deadline=None)
settings.load_profile("crashloop")

# Variables of the shell about terminal, clusters and proxies are no input of a test.
_SHELL = ("COLUMNS", "LINES", "TERM", "FORCE_COLOR", "NO_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "KUBECONFIG")
for _name in list(os.environ):
    if _name in _SHELL or _name.startswith("CRASHLOOP_") or _name.lower().endswith("_proxy"):
        del os.environ[_name]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The fault matrix and the count of false alarms."""
    reports = [*terminalreporter.stats.get("passed", ()), *terminalreporter.stats.get("failed", ())]
    for line in proof.lines(reports):
        terminalreporter.write_line(line)
