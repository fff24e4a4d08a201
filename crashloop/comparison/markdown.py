"""A comparison or a matrix for a GitHub job summary."""

from crashloop.comparison.change import Judged
from crashloop.comparison.comparison import Comparison, RequirementChange
from crashloop.comparison.matrix import Cell, Matrix
from crashloop.comparison.words import (
    LATENESS_HEADER,
    SYMBOLS,
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
from crashloop.report.markdown import MAX_FINDING, code, escaped, table
from crashloop.report.standing import Standing
from crashloop.report.text import shortened

REST = "the output of --json"


def comparison_to_markdown(comparison: Comparison) -> str:
    """The job summary of a comparison."""
    said = headline(comparison)
    blocks = [
        f"## {SYMBOLS[said.change]} {escaped(said.sentence)}",
        f"{escaped(agreement(comparison))} {escaped(said.meaning)}",
        f"**What to do:** {escaped(said.to_do)}",
        f"Before: {escaped(str(comparison.before))}. After: {escaped(str(comparison.after))}. "
        f"Exit code {comparison.exit_code}.",
    ]
    if comparison.circumstances:
        other = [tuple(map(escaped, (each.subject, each.before, each.after))) for each in comparison.circumstances]
        blocks += ["### What else differs", table(("", "Before", "After"), other, rest=REST)]
    if comparison.changed:
        rows = [row for each in comparison.changed for row in _rows(each)]
        header = ("Change", "Requirement", "Scenario", "Before", "After", "Findings")
        blocks += ["### Requirements", table(header, rows, rest=REST)]
    if comparison.allowed:
        allowed = [
            (escaped(reason), ", ".join(map(code, names))) for reason, names in allowed_by_reason(comparison).items()
        ]
        blocks += ["### Judged in one run only", table(("Reason", "Requirements"), allowed, rest=REST)]
    blocks += ["### Lateness of restarts", escaped(lateness_summary(comparison))]
    late = [tuple(map(escaped, lateness_cells(each))) for each in comparison.compared_lateness]
    if late:
        blocks.append(table(LATENESS_HEADER, late, rest=REST))
    return "\n\n".join(blocks) + "\n"


def matrix_to_markdown(matrix: Matrix) -> str:
    """The job summary of many runs: one table, what is not PASS with its reason folded away, and the flakes."""
    header = ("Requirement", *(escaped(str(column.key)) for column in matrix.columns))
    rows = [
        (f"**{escaped(row.requirement.id)}** {escaped(row.requirement.sentence)}", *map(_cell, row.cells))
        for row in matrix.rows
    ]
    blocks = ["## Requirements by Kubernetes version", table(header, rows, rest=REST), escaped(flakes_summary(matrix))]
    if matrix.flakes:
        blocks.append("\n".join(f"- {escaped(flake_text(each))}" for each in matrix.flakes))
    reasons = [
        (escaped(row.requirement.id), escaped(str(column.key)), _cell(each), _findings(each.findings))
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
            _outcome(scenario.before),
            _outcome(scenario.after),
            "<br>".join(
                f"{name}: {_findings(judged.findings)}"
                for name, judged in (("before", scenario.before), ("after", scenario.after))
                if judged is not None and judged.findings
            ),
        )
        for scenario in each.scenarios
    ]


def _outcome(judged: Judged | None) -> str:
    return outcome(judged) if judged is None else f"{judged.standing.symbol} {outcome(judged)}"


def _cell(cell: Cell) -> str:
    return cell_text(cell) if cell.standing in (None, Standing.SKIPPED) else f"{cell.standing.symbol} {cell_text(cell)}"


def _findings(findings: tuple[str, ...]) -> str:
    return "<br>".join(escaped(shortened(each, MAX_FINDING)) for each in findings)
