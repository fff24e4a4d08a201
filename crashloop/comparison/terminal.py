"""A comparison or a matrix on a terminal, or in a CI log. Worst last: a terminal is read from its end."""

from rich.console import Console
from rich.text import Text

from crashloop.comparison.change import Change
from crashloop.comparison.columns import cell, print_table
from crashloop.comparison.comparison import Comparison, RequirementChange, ScenarioChange
from crashloop.comparison.lateness import LatenessChange
from crashloop.comparison.matrix import Cell, Matrix
from crashloop.comparison.words import (
    ARROW,
    LATENESS_HEADER,
    SYMBOLS,
    TONES,
    agreement,
    allowed_by_reason,
    cell_text,
    flake_text,
    flakes_summary,
    headline,
    lateness_cells,
    lateness_summary,
    outcome,
)
from crashloop.report.standing import Standing
from crashloop.report.terminal import STYLES, print_line


def render_comparison(comparison: Comparison, console: Console) -> None:
    """Print what differs, the findings of all that is not allowed, and what to do next."""
    print_line(console, f"before: {comparison.before}")
    print_line(console, f"after:  {comparison.after}")
    for each in comparison.circumstances:
        print_line(console, f"  {each.subject}: {each.before} {ARROW} {each.after}")
    if comparison.changed:
        print_line(console, "")
        print_table(
            ("change", "requirement", "before", "after", "scenarios", ""),
            [_row(each) for each in reversed(comparison.changed)],
            console,
        )
    for requirement in reversed(comparison.changed):
        for scenario in requirement.scenarios:
            _print_findings(requirement, scenario, console)
    for reason, requirements in allowed_by_reason(comparison).items():
        print_line(console, "")
        print_line(console, f"{Change.ALLOWED.value} {', '.join(requirements)}", _style(Change.ALLOWED))
        print_line(console, f"  {reason}")
    _print_lateness(comparison, console)
    _print_headline(comparison, console)


def render_matrix(matrix: Matrix, console: Console) -> None:
    """Print a line a requirement, the runs of each column, and what varied with nothing changed."""
    for number, column in enumerate(matrix.columns, start=1):
        print_line(console, f"[{number}] {column.key}: {', '.join(column.runs)}")
    print_line(console, "")
    header = ("requirement", *(f"[{number}]" for number in range(1, len(matrix.columns) + 1)), "")
    rows = [
        (cell(row.requirement.id), *map(_cell, row.cells), cell(row.requirement.sentence, "dim")) for row in matrix.rows
    ]
    print_table(header, rows, console)
    print_line(console, "")
    print_line(console, flakes_summary(matrix), STYLES[Standing.FAIL] if matrix.flakes else "")
    for flake in matrix.flakes:
        print_line(console, f"  {flake_text(flake)}")


def _row(each: RequirementChange) -> tuple[Text, ...]:
    return (
        cell(f"{SYMBOLS[each.change]} {each.change.value}", _style(each.change)),
        cell(each.requirement.id),
        cell(outcome(each.before)),
        cell(outcome(each.after)),
        cell(str(len(each.scenarios))),
        cell(each.requirement.sentence, "dim"),
    )


def _cell(one: Cell) -> Text:
    return cell(cell_text(one), "dim" if one.standing is None else STYLES[one.standing])


def _style(change: Change) -> str:
    return STYLES[TONES[change]]


def _print_findings(requirement: RequirementChange, scenario: ScenarioChange, console: Console) -> None:
    """What each run says, as far as it says anything."""
    change = f"{outcome(scenario.before)} {ARROW} {outcome(scenario.after)}"
    print_line(console, "")
    print_line(
        console,
        f"{scenario.change.value} {requirement.requirement.id} in {scenario.scenario}: {change}",
        _style(scenario.change),
    )
    for name, judged in (("before", scenario.before), ("after", scenario.after)):
        for finding in judged.findings if judged else ():
            print_line(console, f"  {name}: {finding}")


def _print_lateness(comparison: Comparison, console: Console) -> None:
    print_line(console, "")
    rows = [
        tuple(cell(text, _lateness_style(each)) for text in lateness_cells(each))
        for each in reversed(comparison.compared_lateness)
    ]
    if rows:
        print_table(LATENESS_HEADER, rows, console)
    print_line(console, lateness_summary(comparison))


def _lateness_style(each: LatenessChange) -> str:
    if not each.is_change:
        return "dim"
    return _style(Change.WORSE if each.is_longer else Change.BETTER)


def _print_headline(comparison: Comparison, console: Console) -> None:
    said = headline(comparison)
    print_line(console, "")
    print_line(console, f"{SYMBOLS[said.change]} {said.sentence}", _style(said.change))
    print_line(console, agreement(comparison))
    print_line(console, said.meaning)
    print_line(console, f"What to do: {said.to_do}")
    print_line(console, f"Exit code: {comparison.exit_code}")
