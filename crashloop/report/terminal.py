"""The end of a run on a terminal, or in a CI log. Worst last: a terminal is read from its end."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from rich.console import Console
from rich.table import Table
from rich.text import Text

from crashloop.report.coverage import Coverage
from crashloop.report.headline import Headline, headline
from crashloop.report.results import RequirementText, Results
from crashloop.report.standing import Standing, reported
from crashloop.report.text import counted, evidence_text, printable, took
from crashloop.verdict import Verdict

STYLES = {
    Standing.FAIL: "bold red",
    Standing.ERROR: "bold magenta",
    Standing.INCONCLUSIVE: "bold yellow",
    Standing.DEVIATION: "blue",
    Standing.REPORTED: "cyan",
    Standing.PASS: "green",
    Standing.SKIPPED: "dim",
}


class Ended(Protocol):
    """What the results of any run say about its end."""

    @property
    def exit_code(self) -> int: ...
    @property
    def coverage(self) -> Coverage | None: ...


class _Line(NamedTuple):
    """A requirement over all its scenarios."""

    requirement: RequirementText
    standing: Standing
    worst: int
    total: int

    @property
    def scenarios(self) -> str:
        """`4`, or `1 of 4` where not all scenarios have the worst outcome."""
        return str(self.total) if self.worst == self.total else f"{self.worst} of {self.total}"


def render(results: Results, console: Console, *, report: str = "report.html") -> None:
    """Print one line a requirement, the findings of all that is not PASS, and what to do next.

    `report` is where the reader finds report.html. Without a terminal the same goes out as plain lines.
    """
    lines = _lines(results)
    if console.is_terminal:
        _print_table(lines, console)
    else:
        for line in lines:
            words = f"{line.standing.label:<15} {line.requirement.id:<12} {line.scenarios:<8}"
            print_line(console, f"{words} {line.requirement.sentence}".rstrip())
    _print_skipped(results, console)
    for verdict in reversed(results.verdicts):
        if Standing.of(verdict) not in (Standing.PASS, Standing.SKIPPED):
            _print_findings(verdict, console)
    print_end(headline(results), _summary(results), results, report, console)


def _lines(results: Results) -> list[_Line]:
    lines = []
    for requirement in results.requirements:
        standings = [Standing.of(each) for each in results.verdicts if each.requirement == requirement.id]
        if not standings:
            continue
        worst = min(standings, key=lambda standing: standing.rank)
        lines.append(_Line(requirement, worst, standings.count(worst), len(standings)))
    return sorted(lines, key=lambda line: -line.standing.rank)


def _print_table(lines: Sequence[_Line], console: Console) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("outcome", no_wrap=True)
    table.add_column("requirement", no_wrap=True)
    table.add_column("scenarios", no_wrap=True, justify="right")
    table.add_column("", overflow="fold", ratio=1)
    for line in lines:
        style = STYLES[line.standing]
        table.add_row(
            Text(f"{line.standing.symbol} {line.standing.label}", style),
            Text(printable(line.requirement.id)),
            Text(line.scenarios),
            Text(printable(line.requirement.sentence), "" if line.standing.needs_attention else "dim"),
        )
    console.print(table)


def _print_skipped(results: Results, console: Console) -> None:
    """One missing capability can skip many requirements: one entry a reason."""
    by_reason: dict[tuple[str, ...], dict[str, None]] = {}
    for verdict in results.verdicts:
        if Standing.of(verdict) is Standing.SKIPPED:
            by_reason.setdefault(verdict.findings, {})[verdict.requirement] = None
    for reason, requirements in by_reason.items():
        print_line(console, "")
        print_line(console, f"{Standing.SKIPPED.label} {', '.join(requirements)}", STYLES[Standing.SKIPPED])
        for finding in reason:
            print_line(console, f"  {finding}")


def _print_findings(verdict: Verdict, console: Console) -> None:
    standing = Standing.of(verdict)
    print_line(console, "")
    print_line(
        console,
        f"{standing.label} {verdict.requirement} in {verdict.scenario} ({verdict.profile})",
        STYLES[standing],
    )
    for finding in verdict.findings:
        print_line(console, f"  {finding}")
    if verdict.deviation is not None:
        print_line(console, f"  known deviation: {verdict.deviation}")
    if reported(verdict):
        print_line(console, f"  {reported(verdict)}")
    if verdict.evidence:
        print_line(console, f"  evidence: {evidence_text(verdict.evidence)}", "dim")


def _summary(results: Results) -> str:
    """`97 verdicts in 1 min 29 s: 1 KNOWN DEVIATION, 96 PASS.`; empty for none."""
    if not results.verdicts:
        return ""
    counts = ", ".join(f"{number} {standing.label}" for standing, number in results.counts.items() if number)
    return f"{counted(len(results.verdicts), 'verdict')} in {took(results.finished - results.started)}: {counts}."


def print_end(said: Headline, summary: str, run: Ended, report: str, console: Console) -> None:
    """The end of any run: its headline, what to do, a summary if there is one, and how much it judged."""
    print_line(console, "")
    print_line(console, f"{said.standing.symbol} {said.standing.label}: {said.sentence}", STYLES[said.standing])
    print_line(console, said.meaning)
    print_line(console, f"What to do: {said.to_do}")
    if summary:
        print_line(console, summary)
    print_line(console, f"Report: {report}")
    print_line(console, f"Exit code: {run.exit_code}")
    if run.coverage is not None:
        print_line(console, run.coverage.sentence)


def print_line(console: Console, text: str, style: str = "") -> None:
    """Lines are not broken for a log: tools search them; nothing in a text acts on the terminal."""
    console.print(Text(printable(text), style), soft_wrap=not console.is_terminal)
