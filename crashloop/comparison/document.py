"""The documents of `crashloop compare` and `crashloop compare --by version`."""

from collections.abc import Iterable, Iterator, Mapping

from crashloop.comparison.comparison import Comparison, VerdictChange
from crashloop.comparison.lateness import LatenessChange
from crashloop.comparison.matrix import Cell as MatrixCell
from crashloop.comparison.matrix import Matrix
from crashloop.comparison.side import Change, ScenarioOutcome
from crashloop.comparison.stress import (
    VALUES_HEADER,
    names_text,
    not_compared,
    promised_values,
    stage_values,
    value_cells,
    values_summary,
)
from crashloop.comparison.text import (
    ARROW,
    LATENESS_HEADER,
    SYMBOLS,
    TONES,
    allowed_by_reason,
    cell_text,
    flake_text,
    flakes_summary,
    headline,
    lateness_cells,
    lateness_summary,
    name_of,
    outcome,
)
from crashloop.comparison.values import ValueChange
from crashloop.report.document import (
    Badge,
    Block,
    Bullets,
    Cell,
    Document,
    Headline,
    Inline,
    Medium,
    Pairs,
    Paragraph,
    Row,
    Section,
    Span,
    Table,
    row,
    table,
)
from crashloop.report.standing import Standing

DATA = "the output of --json"


def comparison_document(comparison: Comparison) -> Document:
    """What differs between two runs: verdicts and circumstances, then lateness of restarts, or values of promises."""
    others = [(each.subject, each.before, each.after) for each in comparison.circumstances]
    same = Paragraph(
        "Nothing: the runs have the same provider, versions, profiles, load and host.", "muted", Medium.PAGE
    )
    sides = f"{comparison.before} {ARROW} {comparison.after}"
    return Document(
        title=f"crashloop compare, {sides}",
        kicker="crashloop compare",
        headline=headline(comparison),
        facts=(("before", str(comparison.before)), ("after", str(comparison.after))),
        exit_code=comparison.exit_code,
        sections=(
            Section("changes", "Verdicts", (_changes(tuple(map(_change, comparison.changed))),)),
            Section(
                "circumstances", "Other differences", (table(("What", "Before", "After"), *others) if others else same,)
            ),
            _allowed(allowed_by_reason(comparison)),
            *(_of_stress(comparison) if comparison.before.suite == "stress" else (_late(comparison),)),
        ),
        origin=f"Written by crashloop compare ({comparison.format}).",
        data=DATA,
    )


def _late(comparison: Comparison) -> Section:
    late = Table(LATENESS_HEADER, tuple(map(_lateness, comparison.compared_lateness)), look="plain")
    note = Paragraph("The lateness of the runtime's create against the due delay.", "note", Medium.PAGE)
    summary = Paragraph(lateness_summary(comparison), "note")
    return Section("lateness", "Lateness of restarts", (note, *((late,) if late.rows else ()), summary))


def _of_stress(comparison: Comparison) -> tuple[Section, ...]:
    promised, stages = promised_values(comparison), stage_values(comparison)
    changed = [each for each in stages if each[1].is_change]
    reasons = [Paragraph(f"{names_text(names)}: {reason}") for reason, names in not_compared(comparison).items()]
    values = (*_values(promised, Medium.PAGE), *_values([*promised, *changed], Medium.TEXT))
    return (
        Section("values", "Values", (*values, Paragraph(values_summary(comparison), "note"))),
        Section("stages", "Figures of stages", tuple(_values(stages, Medium.PAGE))),
        Section("not-compared", "Not compared", tuple(reasons)),
    )


def _changes(rows: tuple[Row, ...]) -> Block:
    if not rows:
        return Paragraph("Everything that both runs judged has the same outcome.", "muted", Medium.PAGE)
    return Table(("Change", "Subject", f"Before {ARROW} after", "What was seen"), rows)


def _change(each: VerdictChange) -> Row:
    both: tuple[Inline, ...] = (*_outcome(each.before), f" {ARROW} ", *_outcome(each.after))
    where: tuple[Inline, ...] = (" in ", Span(each.scenario, "scenario")) if each.scenario else ()
    findings = [
        Paragraph(f"{which}: {finding}", "said")
        for which, judged in (("before", each.before), ("after", each.after))
        for finding in (judged.findings if judged else ())
    ]
    seen = Cell(findings[0].words if findings else "", details=tuple(findings[1:]), is_open=True)
    subject = Cell((Span(name_of(each), "id"), *where), each.requirement.sentence)
    return Row((Cell(_badge(each.change)), subject, Cell(both), seen), TONES[each.change])


def _badge(change: Change, text: str = "") -> tuple[Inline, ...]:
    return (Badge(TONES[change], text or change.value, SYMBOLS[change]),)


def _outcome(judged: ScenarioOutcome | None) -> tuple[Inline, ...]:
    return (outcome(judged),) if judged is None else (Badge.of(judged.standing),)


def _allowed(by_reason: Mapping[str, Iterable[str]]) -> Section:
    rows = tuple((", ".join(names), reason) for reason, names in by_reason.items())
    title = "Judged in one run only, for a stated reason, or only reported"
    return Section("allowed", title, (Pairs(rows, Medium.ALL),) if rows else ())


def _lateness(each: LatenessChange) -> Row:
    became, *others = lateness_cells(each)
    change = (Change.WORSE if each.is_longer else Change.BETTER) if each.is_change else None
    return _became(change, became, others)


def _values(values: Iterable[tuple[str, ValueChange]], on: Medium) -> Iterator[Block]:
    rows = []
    for name, each in values:
        became, *others = value_cells(name, each)
        rows.append(_became(each.change if each.is_change else None, became, others))
    if rows:
        yield Table(VALUES_HEADER, tuple(rows), look="plain", on=on)


def _became(change: Change | None, became: str, others: Iterable[str]) -> Row:
    cells = tuple(map(Cell, others))
    return Row((Cell(became), *cells)) if change is None else Row((Cell(_badge(change, became)), *cells), TONES[change])


def matrix_document(matrix: Matrix) -> Document:
    """Requirements against provider, version and kubelet; flakes; the runs of every column."""
    keys = [str(column.key) for column in matrix.columns]
    rows = tuple(
        Row((Cell((Span(each.requirement.id, "id"),), each.requirement.sentence), *map(_cell, each.cells)))
        for each in matrix.rows
    )
    note = "A cell has the worst outcome over all scenarios and runs of its column, and the number of runs with it."
    runs = tuple((key, ", ".join(column.runs)) for key, column in zip(keys, matrix.columns, strict=True))
    flakes = Bullets(tuple(map(flake_text, matrix.flakes)))
    return Document(
        title=f"crashloop compare --by version: {'; '.join(keys)}",
        kicker="crashloop compare --by version",
        headline=Headline(
            Standing.FAIL if matrix.flakes else Standing.PASS,
            "Requirements by provider, Kubernetes version and kubelet",
            flakes_summary(matrix),
            label="",
        ),
        sections=(
            Section("flakes", "Flakes", (flakes,) if matrix.flakes else ()),
            Section(
                "requirements",
                "Requirements",
                (Paragraph(note, "note", Medium.PAGE), Table(("Requirement", *keys), rows, look="plain")),
            ),
            Section(
                "why",
                "Why not PASS",
                (Table(("Requirement", "On", "Outcome", "Findings"), (), _reasons(matrix)),),
                Medium.SUMMARY,
            ),
            Section("runs", "Runs", (Pairs(runs, Medium.ALL),)),
        ),
        origin=f"Written by crashloop compare --by version ({matrix.format}).",
        data=DATA,
    )


def _cell(cell: MatrixCell) -> Cell:
    details = tuple(Paragraph(finding, "said", Medium.PAGE) for finding in cell.findings)
    if cell.standing is None:
        return Cell((Span(cell_text(cell), "muted"),))
    return Cell((Badge.of(cell.standing, cell_text(cell)),), details=details)


def _reasons(matrix: Matrix) -> tuple[Row, ...]:
    """A row per outcome that is not PASS, for the summary."""
    return tuple(
        row(each.requirement.id, str(column.key), cell_text(cell), "\n".join(cell.findings))._replace(
            tone=cell.standing
        )
        for each in matrix.rows
        for column, cell in zip(matrix.columns, each.cells, strict=True)
        if cell.findings
    )
