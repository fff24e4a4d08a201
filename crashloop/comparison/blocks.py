"""Parts that comparisons of both suites share, on a terminal and in a job summary."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from rich.console import Console

from crashloop.comparison.change import Change, ScenarioOutcome
from crashloop.comparison.circumstances import Circumstance
from crashloop.comparison.text import ARROW, SYMBOLS, TONES, ComparisonHeadline, agreement, outcome
from crashloop.report.markdown import MAX_FINDING, code, escaped, table
from crashloop.report.terminal import STYLES, print_line
from crashloop.report.text import shortened

REST = "the output of --json"


class AnyComparison(Protocol):
    """The common fields of comparisons."""

    @property
    def before(self) -> object: ...
    @property
    def after(self) -> object: ...
    @property
    def counts(self) -> Mapping[Change, int]: ...
    @property
    def circumstances(self) -> Iterable[Circumstance]: ...
    @property
    def exit_code(self) -> int: ...


def style_of(change: Change) -> str:
    """The terminal's style for a change."""
    return STYLES[TONES[change]]


def print_sides(comparison: AnyComparison, console: Console) -> None:
    """Both runs, and what else differs between them."""
    print_line(console, f"before: {comparison.before}")
    print_line(console, f"after:  {comparison.after}")
    for each in comparison.circumstances:
        print_line(console, f"  {each.subject}: {each.before} {ARROW} {each.after}")


def print_findings(
    what: str, change: Change, before: ScenarioOutcome | None, after: ScenarioOutcome | None, console: Console
) -> None:
    """The sentences of both runs, where they have any."""
    print_line(console, "")
    print_line(console, f"{change.value} {what}: {outcome(before)} {ARROW} {outcome(after)}", style_of(change))
    for name, judged in (("before", before), ("after", after)):
        for finding in judged.findings if judged else ():
            print_line(console, f"  {name}: {finding}")


def print_allowed(by_reason: Mapping[str, Iterable[str]], console: Console) -> None:
    """Verdicts of one run only, by the reason."""
    for reason, names in by_reason.items():
        print_line(console, "")
        print_line(console, f"{Change.ALLOWED.value} {', '.join(names)}", style_of(Change.ALLOWED))
        print_line(console, f"  {reason}")


def print_headline(said: ComparisonHeadline, comparison: AnyComparison, console: Console) -> None:
    """Headline, and what to do."""
    print_line(console, "")
    print_line(console, f"{SYMBOLS[said.change]} {said.sentence}", style_of(said.change))
    print_line(console, agreement(comparison.counts))
    print_line(console, said.meaning)
    print_line(console, f"What to do: {said.to_do}")
    print_line(console, f"Exit code: {comparison.exit_code}")


def markdown_head(said: ComparisonHeadline, comparison: AnyComparison) -> list[str]:
    """Headline, both runs, and what else differs between them."""
    blocks = [
        f"## {SYMBOLS[said.change]} {escaped(said.sentence)}",
        f"{escaped(agreement(comparison.counts))} {escaped(said.meaning)}",
        f"**What to do:** {escaped(said.to_do)}",
        f"Before: {escaped(str(comparison.before))}. After: {escaped(str(comparison.after))}. "
        f"Exit code {comparison.exit_code}.",
    ]
    other = [tuple(map(escaped, (each.subject, each.before, each.after))) for each in comparison.circumstances]
    return [*blocks, "### Other differences", table(("", "Before", "After"), other, rest=REST)] if other else blocks


def markdown_allowed(what: str, by_reason: Mapping[str, Iterable[str]]) -> list[str]:
    """Verdicts of one run only, by the reason; `what` is the column's name."""
    rows = [(escaped(reason), ", ".join(map(code, names))) for reason, names in by_reason.items()]
    return ["### Judged in one run only", table(("Reason", what), rows, rest=REST)] if rows else []


def markdown_outcome(judged: ScenarioOutcome | None) -> str:
    """`✓ PASS`, or the mark of a run that did not judge."""
    return outcome(judged) if judged is None else f"{judged.standing.symbol} {outcome(judged)}"


def markdown_findings(before: ScenarioOutcome | None, after: ScenarioOutcome | None) -> str:
    """The sentences of both runs, where they have any."""
    return "<br>".join(
        f"{name}: {joined(judged.findings)}"
        for name, judged in (("before", before), ("after", after))
        if judged is not None and judged.findings
    )


def joined(findings: Iterable[str]) -> str:
    """Findings of a cell; a long one is shortened."""
    return "<br>".join(escaped(shortened(each, MAX_FINDING)) for each in findings)
