"""A comparison or a matrix for a GitHub job summary."""

from crashloop.comparison.blocks import (
    REST,
    joined,
    markdown_allowed,
    markdown_findings,
    markdown_head,
    markdown_outcome,
)
from crashloop.comparison.comparison import Comparison, RequirementChange
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
)
from crashloop.report.markdown import code, escaped, table
from crashloop.report.standing import Standing


def comparison_to_markdown(comparison: Comparison) -> str:
    """The job summary of a comparison."""
    blocks = markdown_head(headline(comparison), comparison)
    if comparison.changed:
        rows = [row for each in comparison.changed for row in _rows(each)]
        header = ("Change", "Requirement", "Scenario", "Before", "After", "Findings")
        blocks += ["### Requirements", table(header, rows, rest=REST)]
    blocks += markdown_allowed("Requirements", allowed_by_reason(comparison))
    blocks += ["### Lateness of restarts", escaped(lateness_summary(comparison))]
    late = [tuple(map(escaped, lateness_cells(each))) for each in comparison.compared_lateness]
    if late:
        blocks.append(table(LATENESS_HEADER, late, rest=REST))
    return "\n\n".join(blocks) + "\n"


def matrix_to_markdown(matrix: Matrix) -> str:
    """The job summary of many runs: one table, the folded reasons of everything but PASS, and the flakes."""
    header = ("Requirement", *(escaped(str(column.key)) for column in matrix.columns))
    rows = [
        (f"**{escaped(row.requirement.id)}** {escaped(row.requirement.sentence)}", *map(_cell, row.cells))
        for row in matrix.rows
    ]
    blocks = ["## Requirements by Kubernetes version", table(header, rows, rest=REST), escaped(flakes_summary(matrix))]
    if matrix.flakes:
        blocks.append("\n".join(f"- {escaped(flake_text(each))}" for each in matrix.flakes))
    reasons = [
        (escaped(row.requirement.id), escaped(str(column.key)), _cell(each), joined(each.findings))
        for row in matrix.rows
        for column, each in zip(matrix.columns, row.cells, strict=True)
        if each.findings
    ]
    if reasons:
        why = table(("Requirement", "On", "Outcome", "Findings"), reasons, rest=REST)
        blocks += ["<details><summary>Why not PASS</summary>", why, "</details>"]
    runs = [(escaped(str(column.key)), ", ".join(map(code, column.runs))) for column in matrix.columns]
    blocks.append(table(("Runs of", ""), runs, rest=REST))
    return "\n\n".join(blocks) + "\n"


def _rows(each: RequirementChange) -> list[tuple[str, ...]]:
    return [
        (
            f"{SYMBOLS[scenario.change]} {scenario.change.value}",
            f"**{escaped(each.requirement.id)}** {escaped(each.requirement.sentence)}",
            code(scenario.scenario),
            markdown_outcome(scenario.before),
            markdown_outcome(scenario.after),
            markdown_findings(scenario.before, scenario.after),
        )
        for scenario in each.scenarios
    ]


def _cell(cell: Cell) -> str:
    return cell_text(cell) if cell.standing in (None, Standing.SKIPPED) else f"{cell.standing.symbol} {cell_text(cell)}"
