"""A comparison of stress runs for a GitHub job summary."""

from crashloop.comparison.blocks import REST, markdown_allowed, markdown_findings, markdown_head, markdown_outcome
from crashloop.comparison.stress.comparison import SloChange, StressComparison
from crashloop.comparison.stress.text import (
    VALUES_HEADER,
    allowed_by_reason,
    name_of,
    names_text,
    not_compared,
    promised_values,
    stage_values,
    stress_headline,
    value_cells,
    values_summary,
)
from crashloop.comparison.text import SYMBOLS
from crashloop.report.markdown import escaped, table


def stress_comparison_to_markdown(comparison: StressComparison) -> str:
    """The job summary."""
    blocks = markdown_head(stress_headline(comparison), comparison)
    if comparison.changed:
        header = ("Change", "Promise", "Before", "After", "What was seen")
        blocks += ["### Promises", table(header, [_row(each) for each in comparison.changed], rest=REST)]
    blocks += markdown_allowed("Promises", allowed_by_reason(comparison))
    blocks += ["### Values", escaped(values_summary(comparison))]
    values = (*promised_values(comparison), *(each for each in stage_values(comparison) if each[1].is_change))
    if values:
        blocks.append(table(VALUES_HEADER, [tuple(map(escaped, value_cells(*each))) for each in values], rest=REST))
    blocks += [
        f"Not compared: {escaped(names_text(names))}: {escaped(reason)}"
        for reason, names in not_compared(comparison).items()
    ]
    return "\n\n".join(blocks) + "\n"


def _row(each: SloChange) -> tuple[str, ...]:
    return (
        f"{SYMBOLS[each.change]} {each.change.value}",
        f"**{escaped(name_of(each))}** {escaped(each.promise)}".strip(),
        markdown_outcome(each.before),
        markdown_outcome(each.after),
        markdown_findings(each.before, each.after),
    )
