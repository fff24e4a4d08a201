"""report.html of a stress run: one file that needs no network, with the same guarantees as every report (html.py)."""

from typing import NamedTuple

from markupsafe import Markup

from crashloop.predict.words import costs_in_words
from crashloop.report.facts import flattened
from crashloop.report.figure_words import FIGURES, figure_text
from crashloop.report.headline import Headline
from crashloop.report.html import page
from crashloop.report.standing import Standing
from crashloop.report.stress_headline import stress_headline
from crashloop.report.stress_plots import Plot, curve_plots, rows
from crashloop.report.stress_results import RowText, StageResult, StressResults
from crashloop.report.stress_svg import LINES, curve_svg, plot_svg
from crashloop.report.text import took
from crashloop.slo.types import SloVerdict


class PromiseRow(NamedTuple):
    """A verdict of the table."""

    standing: Standing
    verdict: SloVerdict
    text: RowText | None
    groups: tuple[tuple[str, str, str], ...]
    """Of each window and group: its labels, value and samples."""


class Figure(NamedTuple):
    """A plot with its legend."""

    node: str
    svg: Markup
    legend: tuple[tuple[int, str], ...]
    told: str


class FigureRow(NamedTuple):
    title: str
    figures: tuple[Figure, ...]


class StressView(NamedTuple):
    """Everything that the page shows."""

    results: StressResults
    headline: Headline
    took: str
    promises: tuple[PromiseRow, ...]
    timeline: tuple[FigureRow, ...]
    curves: tuple[Figure, ...]
    stage_names: tuple[str, ...]
    stage_figures: tuple[tuple[str, tuple[str, ...]], ...]
    costs: str | None
    """What one restart cost, in a sentence."""
    totals: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]


MAX_GROUPS = 40
"""Groups of one promise that the page shows; slo.json has all."""


def to_stress_html(results: StressResults) -> str:
    """The whole page."""
    return page("stress.html.j2", sheets=("style.css.j2", "stress.css.j2"), view=stress_view(results), results=results)


def stress_view(results: StressResults) -> StressView:
    """Lay the results out."""
    ranked = sorted(results.verdicts, key=lambda each: (each.mode != "gate", Standing(each.outcome.value).rank))
    return StressView(
        results=results,
        headline=stress_headline(results),
        took=took(results.finished - results.started),
        promises=tuple(_promise(each, results) for each in ranked),
        timeline=_timeline(results),
        curves=tuple(
            Figure(f"{plot.curve.node} ({plot.curve.profile})", curve_svg(plot, name=f"curve-{index}"), (), plot.told)
            for index, plot in enumerate(curve_plots(results.curves))
        ),
        stage_names=tuple(stage_name(each) for each in results.stages),
        stage_figures=tuple(
            (words, tuple(figure_text(each.figures.get(name)) for each in results.stages))
            for name, words in FIGURES.items()
        ),
        costs=None if results.costs is None else costs_in_words(results.costs),
        totals=tuple((name.replace("_", " "), f"{value:,.0f}") for name, value in results.totals.items()),
        environment=tuple(flattened(results.environment)),
    )


def stage_name(stage: StageResult) -> str:
    """Name, mix and arm."""
    return ", ".join(filter(None, (stage.name, stage.mix, stage.arm)))


def _promise(verdict: SloVerdict, results: StressResults) -> PromiseRow:
    groups = tuple(
        (
            ", ".join(f"{name} {value}" for name, value in each.group.items() if value) or "all",
            "–" if each.value is None else f"{each.value:.3g} {verdict.unit}",
            f"{each.samples:,}",
        )
        for each in verdict.results[:MAX_GROUPS]
    )
    return PromiseRow(Standing(verdict.outcome.value), verdict, results.row(verdict.slo), groups)


def _timeline(results: StressResults) -> tuple[FigureRow, ...]:
    """One row of plots for a quantity that several nodes have; those of one node stand side by side."""
    shown: list[FigureRow] = []
    for number, row in enumerate(rows(results)):
        figures = tuple(_figure(plot, f"plot-{number}-{index}") for index, plot in enumerate(row.plots))
        if len(figures) > 1:
            shown.append(FigureRow(row.title, figures))
            continue
        alone = tuple(each._replace(node=f"{row.title}, {each.node}") for each in figures)
        if shown and not shown[-1].title:
            shown[-1] = FigureRow("", shown[-1].figures + alone)
        else:
            shown.append(FigureRow("", alone))
    return tuple(shown)


def _figure(plot: Plot, name: str) -> Figure:
    legend = tuple((place % LINES, line.name) for place, line in enumerate(plot.lines))
    return Figure(plot.node, plot_svg(plot, name=name), legend, plot.told)
