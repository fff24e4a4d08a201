"""Prints a comparison of stress runs on a terminal or in a CI log. Worst last: a terminal is read from its end."""

from rich.console import Console
from rich.text import Text

from crashloop.comparison.blocks import print_allowed, print_findings, print_headline, print_sides, style_of
from crashloop.comparison.columns import cell, print_table
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
from crashloop.comparison.stress.values import ValueChange
from crashloop.comparison.text import SYMBOLS, outcome
from crashloop.report.terminal import print_line


def render_stress_comparison(comparison: StressComparison, console: Console) -> None:
    """Print the differences, both sentences of every changed verdict, the values, and what to do next."""
    print_sides(comparison, console)
    if comparison.changed:
        print_line(console, "")
        rows = [_row(each) for each in reversed(comparison.changed)]
        print_table(("change", "promise", "before", "after", ""), rows, console)
    for change in reversed(comparison.changed):
        print_findings(name_of(change), change.change, change.before, change.after, console)
    print_allowed(allowed_by_reason(comparison), console)
    _print_values(comparison, console)
    print_headline(stress_headline(comparison), comparison, console)


def _row(each: SloChange) -> tuple[Text, ...]:
    return (
        cell(f"{SYMBOLS[each.change]} {each.change.value}", style_of(each.change)),
        cell(name_of(each)),
        cell(outcome(each.before)),
        cell(outcome(each.after)),
        cell(each.promise, "dim"),
    )


def _print_values(comparison: StressComparison, console: Console) -> None:
    """Values of promises; of the many stages only the changed ones."""
    of_stages = [each for each in stage_values(comparison) if each[1].is_change]
    rows = [
        tuple(cell(text, _value_style(change)) for text in value_cells(name, change))
        for name, change in reversed((*promised_values(comparison), *of_stages))
    ]
    print_line(console, "")
    for reason, names in not_compared(comparison).items():
        print_line(console, f"not compared: {names_text(names)}: {reason}", "dim")
    if rows:
        print_table(VALUES_HEADER, rows, console)
    print_line(console, values_summary(comparison))


def _value_style(change: ValueChange) -> str:
    return style_of(change.change) if change.is_change and change.change else "dim"
