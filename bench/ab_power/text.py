"""Counts of comparisons as a Markdown table, and the false alarms among the relabellings of one run as a sentence."""

from collections.abc import Iterable

from bench.ab_power.counting import EQUAL, ComparedRun, Counted
from bench.ab_power.relabelled import relabelled
from crashloop.slo.estimates import wilson
from crashloop.slo.paired import POWER

HEADER = (
    "Treatment",
    "Primary effect",
    "Higher",
    "Higher or lower",
    "Ratio, median",
    f"Visible with a power of {100 * POWER:g} %, median",
    "Longest run",
)


def table(lines: Iterable[Counted]) -> str:
    """As Markdown."""
    rows: list[tuple[str, ...]] = [HEADER, ("---",) * len(HEADER), *map(_cells, lines)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


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
    """The false alarms among the relabellings of an A/A run, as a sentence; None where they are not known."""
    found = relabelled(tuple(run.effects.values())) if run.treatment.endswith(f": {EQUAL}") else None
    return found and f"{_share(found.alarms, found.labellings)} relabellings of its pairs call a difference."
