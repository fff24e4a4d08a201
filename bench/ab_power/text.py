"""Counts of comparisons as a Markdown table, and what the relabellings of one run show as a sentence."""

from collections.abc import Iterable

from bench.ab_power.counting import EQUAL, ComparedRun, Counted
from bench.ab_power.relabelled import Relabelled, false_alarms, power, relabelled
from crashloop.report.markdown import table
from crashloop.slo.compare import POWER
from crashloop.slo.estimates import wilson

PLANTED = 1.05
"""A difference that a comparison has to see."""
HEADER = (
    "Treatment",
    "Primary effect",
    "Higher",
    "Higher or lower",
    "Ratio, median",
    f"Visible with a power of {100 * POWER:g} %, median",
    "Longest run",
)


def counts_as_table(lines: Iterable[Counted]) -> str:
    """As Markdown."""
    return table(HEADER, map(_cells, lines))


def _cells(line: Counted) -> tuple[str, ...]:
    return (
        line.treatment,
        line.effect,
        _share(line.higher, line.runs),
        _share(line.different, line.runs),
        "–" if line.ratio is None else f"{line.ratio:.3f}",
        "–" if line.visible is None else f"{100 * (line.visible - 1):.1f} %",
        f"{line.longest_s / 60:.1f} min",
    )


def _share(number: int, runs: int) -> str:
    """Such as `9 of 10: 90 % (60 to 98 %)`."""
    lower, upper = wilson(number, runs).bounds or (0.0, 1.0)
    return f"{number} of {runs}: {100 * number / runs:.0f} % ({100 * lower:.0f} to {100 * upper:.0f} %)"


def of_relabellings(run: ComparedRun) -> str | None:
    """False alarms and power among the relabellings of an A/A run, as a sentence; None where they are not known."""
    labellings = relabelled(tuple(run.effects.values())) if run.treatment.endswith(f": {EQUAL}") else None
    if labellings is None:
        return None
    alarms = false_alarms(labellings)
    seen = ", ".join(f"{name} {_percent(power(labellings, at, PLANTED))}" for at, name in enumerate(run.effects))
    return (
        f"of {alarms.labellings:,} relabellings of its pairs {_percent(alarms)} call a difference. {100 * (PLANTED - 1):.0f} % "
        f"more would be called higher in so many of them: {seen}."
    )


def _percent(found: Relabelled) -> str:
    return f"{100 * found.found / found.labellings:.1f} %"
