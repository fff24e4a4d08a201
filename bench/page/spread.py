"""How much the figures of a load differ from run to run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from statistics import median

import msgspec

from crashloop.report.markdown import table
from crashloop.report.stress.figures import FIGURES, figure_text, is_a_highest
from crashloop.report.stress.results import StressResults
from crashloop.report.stress.text import stage_name


class Repeat(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one run."""

    started: datetime
    stages: Mapping[str, Mapping[str, float | None]]
    """By name of the stage."""


def repeat_of(results: StressResults) -> Repeat:
    """The figures of a run."""
    return Repeat(started=results.started, stages={stage_name(each): each.figures for each in results.stages})


def spread(repeats: Sequence[Repeat]) -> str:
    """Per figure and stage the median of the runs, with the lowest and the highest.

    Left out are figures that no run has, and a p99 of few events.
    """
    stages = list(dict.fromkeys(name for each in repeats for name in each.stages))
    rows = (
        (words, *(_cell(name, _values(repeats, stage, name)) for stage in stages)) for name, words in FIGURES.items()
    )
    filled = [row for row in rows if set(row[1:]) != {"–"}]
    days = sorted({f"{each.started:%Y-%m-%d}" for each in repeats})
    heading = f"Median of {len(repeats)} runs ({', '.join(days)}), with the lowest and the highest:"
    return f"{heading}\n\n{table(('', *stages), filled, right=True)}"


def _values(repeats: Iterable[Repeat], stage: str, figure: str) -> Iterator[float]:
    for each in repeats:
        figures = each.stages.get(stage, {})
        value = figures.get(figure)
        if value is not None and not is_a_highest(figure, figures):
            yield value


def _cell(figure: str, values: Iterable[float]) -> str:
    found = sorted(values)
    if not found:
        return "–"
    middle, low, high = (figure_text(figure, each) for each in (median(found), found[0], found[-1]))
    return middle if low == high else f"{middle} ({low} to {high})"
