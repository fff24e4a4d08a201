"""The terminal of `crashloop run`: one live line while the verdicts come in, and after it only what the suite itself prints.

pytest's reporter is replaced, for pytest's header and summary speak of tests: an INCONCLUSIVE verdict is a failed test to pytest.
"""

import re
import time
from datetime import timedelta
from typing import Any

import pytest
from _pytest.terminal import TerminalReporter

from crashloop.errors import UsageError
from crashloop.report.text import took

OF_PYTESTS_REPORTER = ("-q", "-v", "-r", "--quiet", "--verbose", "--collect-only", "--co", "--fixtures", "--markers")
"""Options with which the output is pytest's own, as in CI logs that are read by tools."""
SETTINGS = ("-q", "--no-header", "--no-summary", "--disable-warnings")
_VERDICT = re.compile(r"^\S+ on .+: (FAIL|ERROR|INCONCLUSIVE)$", re.MULTILINE)
"""The line of a test that failed by its verdict (fixtures/requirements.py); xdist puts its worker before it."""


def is_own(arguments: list[str]) -> bool:
    """Whether nothing among the arguments asks for pytest's own output."""
    return not any(each.startswith(OF_PYTESTS_REPORTER) for each in arguments)


class Faults:
    """Plugin of pytest: notes an internal error, whose exit code would be 3 (INCONCLUSIVE), and words what was used wrongly."""

    seen = False

    @pytest.hookimpl(wrapper=True)
    def pytest_cmdline_parse(self) -> Any:
        return (yield from self._worded())

    @pytest.hookimpl(wrapper=True)
    def pytest_cmdline_main(self) -> Any:
        return (yield from self._worded())

    def _worded(self) -> Any:
        try:
            return (yield)
        except pytest.UsageError as error:
            told = str(error)
            unknown = re.search(r"error: (.*)", told)
            said = (
                f"{unknown[1]}.\n`crashloop run -h` has its options; others are those of pytest." if unknown else told
            )
            raise UsageError(said) from error

    def pytest_internalerror(self) -> None:
        self.seen = True


class RunTerminal:
    """Plugin of pytest that puts `Reporter` in place of pytest's own."""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        plugins = config.pluginmanager
        plain = plugins.get_plugin("terminalreporter")
        if plain is not None and not hasattr(config, "workerinput"):
            plugins.unregister(plain)
            plugins.register(Reporter(config), "terminalreporter")


class Reporter(TerminalReporter):  # type: ignore[misc]  # final, so a new pytest may change what is replaced here
    """Counts verdicts. Without a terminal it prints no progress: the recorder's own lines show that the run goes on."""

    expected = 0
    """Verdicts of the whole run; 0 while it is not known."""
    _ends_s = 0.0
    _failed = _open = _done = 0

    @property
    def has_live_line(self) -> bool:
        return bool(self.isatty)

    def expects(self, verdicts: int, within_s: float) -> None:
        """The run begins."""
        self.expected, self._ends_s = verdicts, time.monotonic() + within_s
        self._show()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        category, *_ = self.config.hook.pytest_report_teststatus(report=report, config=self.config)
        self._add_stats(category, [report])
        if report.when != "call" and not report.failed and not report.skipped:
            return
        found = _VERDICT.search(report.longreprtext) if report.failed else None
        self._done += 1
        self._failed += found is not None and found[1] == "FAIL"
        self._open += found is not None and found[1] != "FAIL"
        if report.failed and found is None:  # no verdict, but a fault of the suite
            if self.has_live_line:
                self.rewrite("", erase=True)
            self.ensure_newline()
            self.write_line(report.longreprtext)
        self._show()

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        pass

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        pass

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        super().pytest_collectreport(report)
        if report.failed:
            self.write_line(report.longreprtext)

    def write_line(self, line: str | bytes, **markup: bool) -> None:
        if line != "bringing up nodes...":  # of xdist
            super().write_line(line, **markup)

    def rewrite(self, line: str, **markup: bool) -> None:
        if not line.startswith("bringing up nodes..."):
            super().rewrite(line, **markup)

    def summary_stats(self) -> None:
        """Nothing: the verdict is the last word."""

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Any:
        if self.expected and self.has_live_line:
            self.rewrite("judged; the cluster is removed ...", erase=True)
        return (yield from super().pytest_sessionfinish(session, exitstatus))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:  # noqa: ARG002
        """Said at once: what follows may take a minute."""
        if self.has_live_line:
            self.rewrite("", erase=True)
        self.ensure_newline()
        begun = "; what was recorded is judged, and what was started is removed ..." if self.expected else "."
        self.write_line(f"crashloop: interrupted{begun}")

    def _report_keyboardinterrupt(self) -> None:
        """Nothing more: the verdict is the last word."""

    def _show(self) -> None:
        if self.has_live_line and self.expected:
            self.rewrite(progress(self._done, self.expected, self._failed, self._open, self._left_s()), erase=True)

    def _left_s(self) -> float:
        return max(self._ends_s - time.monotonic(), 0.0)


def progress(done: int, expected: int, failed: int, undecided: int, left_s: float) -> str:
    """`142 of 316 verdicts, 0 FAIL, at most 1 min 10 s left`."""
    more = f", {undecided} undecided" if undecided else ""
    return f"{done} of {expected} verdicts, {failed} FAIL{more}, at most {took(timedelta(seconds=left_s))} left"
