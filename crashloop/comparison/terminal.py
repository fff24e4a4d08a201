"""Prints a comparison or a matrix on a terminal or in a CI log. Worst last: a terminal is read from its end."""

from rich.console import Console
from rich.text import Text

from crashloop.comparison.blocks import print_allowed, print_findings, print_headline, print_sides, style_of
from crashloop.comparison.change import Change
from crashloop.comparison.columns import cell, print_table
from crashloop.comparison.comparison import Comparison, RequirementChange
from crashloop.comparison.lateness import LatenessChange
from crashloop.comparison.matrix import Cell, Matrix
from crashloop.comparison.text import (
    LATENESS_HEADER,
    SYMBOLS,
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
    """Print the differences, their findings unless allowed, and what to do next."""
    print_sides(comparison, console)
    if comparison.changed:
        print_line(console, "")
        print_table(
            ("change", "requirement", "before", "after", "scenarios", ""),
            [_row(each) for each in reversed(comparison.changed)],
            console,
        )
    for requirement in reversed(comparison.changed):
        for scenario in requirement.scenarios:
            where = f"{requirement.requirement.id} in {scenario.scenario}"
            print_findings(where, scenario.change, scenario.before, scenario.after, console)
    print_allowed(allowed_by_reason(comparison), console)
    _print_lateness(comparison, console)
    print_headline(headline(comparison), comparison, console)


def render_matrix(matrix: Matrix, console: Console) -> None:
    """Print a line per requirement, the runs of every column, and the flakes."""
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
        cell(f"{SYMBOLS[each.change]} {each.change.value}", style_of(each.change)),
        cell(each.requirement.id),
        cell(outcome(each.before)),
        cell(outcome(each.after)),
        cell(str(len(each.scenarios))),
        cell(each.requirement.sentence, "dim"),
    )


def _cell(one: Cell) -> Text:
    return cell(cell_text(one), "dim" if one.standing is None else STYLES[one.standing])


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
    return style_of(Change.WORSE if each.is_longer else Change.BETTER)
