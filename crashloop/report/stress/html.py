"""report.html of a stress run: one file that needs no network, with the same guarantees as every report (html.py)."""

from typing import NamedTuple

from markupsafe import Markup

from crashloop.predict.text import costs_in_words
from crashloop.report.flatten import flattened
from crashloop.report.headline import Headline
from crashloop.report.html import page
from crashloop.report.results import ProfileSummary
from crashloop.report.standing import Standing
from crashloop.report.stress.against_pods import against_pods
from crashloop.report.stress.headline import stress_headline
from crashloop.report.stress.plots import Plot, curve_plots, curve_title, rows
from crashloop.report.stress.requirements import requirement_results
from crashloop.report.stress.results import NodeResult, RowText, StressResults
from crashloop.report.stress.svg import LINES, curve_svg, plot_svg
from crashloop.report.stress.text import COUNTING, environment_in_words, ratios_in_words, stage_name, stage_rows
from crashloop.report.text import took
from crashloop.report.view import Row, config_yaml, verdict_rows
from crashloop.slo.types import SloVerdict


class PromiseRow(NamedTuple):
    """A verdict of the table."""

    standing: Standing
    verdict: SloVerdict
    text: RowText | None
    """None: a check of the run itself."""
    said: str
    """Its sentence without its name."""
    groups: tuple[tuple[str, str, str, str], ...]
    """Per window and group: phase, labels, value and samples."""


class Figure(NamedTuple):
    """A plot with its legend."""

    node: str
    svg: Markup
    legend: tuple[tuple[int, str], ...]
    told: str


class NodeView(NamedTuple):
    """A node of the run."""

    node: NodeResult
    yaml: str
    """Its kubelet's configuration, besides the provider's own settings."""


class FigureRow(NamedTuple):
    title: str
    figures: tuple[Figure, ...]


class StressView(NamedTuple):
    """The contents of the page."""

    results: StressResults
    headline: Headline
    took: str
    promises: tuple[PromiseRow, ...]
    checks: tuple[PromiseRow, ...]
    """Checks of the run itself: whether the measurement is as planned."""
    requirements: tuple[Row, ...]
    """Verdicts on requirements of the catalogue."""
    timeline: tuple[FigureRow, ...]
    against_pods: FigureRow
    """Without plots if storms had too few different numbers of pods."""
    curves: tuple[Figure, ...]
    nodes: tuple[NodeView, ...]
    stage_names: tuple[str, ...]
    stage_figures: tuple[tuple[str, tuple[str, ...]], ...]
    costs: str | None
    """The cost of one restart, in a sentence."""
    counting: str
    """Why numbers of restarts differ."""
    totals: tuple[tuple[str, str], ...]
    environment_line: str
    environment: tuple[tuple[str, str], ...]


MAX_GROUPS = 40
"""Groups of one promise that the page shows; slo.json has all."""


def to_stress_html(results: StressResults) -> str:
    """The whole page."""
    return page(
        "stress.html.j2",
        sheets=("style.css.j2", "stress.css.j2"),
        view=stress_view(results),
        results=results,
        ratios=ratios_in_words,
    )


def stress_view(results: StressResults) -> StressView:
    """Lay the results out."""
    ranked = sorted(results.verdicts, key=lambda each: (Standing(each.outcome.value).rank, each.mode != "gate"))
    told = [_promise(each, results) for each in ranked]
    return StressView(
        results=results,
        headline=stress_headline(results),
        took=took(results.finished - results.started),
        promises=tuple(each for each in told if each.text is not None),
        checks=tuple(each for each in told if each.text is None),
        requirements=verdict_rows(requirement_results(results)),
        timeline=_timeline(results),
        against_pods=_against_pods(results),
        curves=tuple(
            Figure(curve_title(plot.curve), curve_svg(plot, name=f"curve-{index}"), (), plot.told)
            for index, plot in enumerate(curve_plots(results.curves))
        ),
        nodes=tuple(
            NodeView(each, config_yaml(ProfileSummary(name=each.profile, config=each.config))) for each in results.nodes
        ),
        stage_names=tuple(stage_name(each) for each in results.stages),
        stage_figures=tuple(stage_rows(results)),
        costs=None if results.costs is None else costs_in_words(results.costs),
        counting=COUNTING,
        totals=tuple((f"{name.replace('_', ' ')} in all", f"{value:,.0f}") for name, value in results.totals.items()),
        environment_line=environment_in_words(results),
        environment=tuple(flattened(results.environment)),
    )


def _promise(verdict: SloVerdict, results: StressResults) -> PromiseRow:
    groups = tuple(
        (
            each.phase or "–",
            ", ".join(f"{name} {value}" for name, value in each.group.items() if value) or "all",
            "–" if each.value is None else f"{each.value:.3g} {verdict.unit}",
            f"{each.samples:,}",
        )
        for each in verdict.results[:MAX_GROUPS]
    )
    return PromiseRow(
        Standing(verdict.outcome.value),
        verdict,
        results.row(verdict.slo),
        verdict.sentence.removeprefix(f"{verdict.slo}: "),
        groups,
    )


def _timeline(results: StressResults) -> tuple[FigureRow, ...]:
    """One row of plots per quantity of several nodes; quantities of one node share a row."""
    shown: list[FigureRow] = []
    for number, row in enumerate(rows(results)):
        figures = tuple(_figure(plot, f"plot-{number}-{index}") for index, plot in enumerate(row.plots))
        if len(figures) > 1:
            shown.append(FigureRow(row.title, figures))
            continue
        alone = tuple(each._replace(node=f"{row.title} · {each.node}") for each in figures)
        if shown and not shown[-1].title:
            shown[-1] = FigureRow("", shown[-1].figures + alone)
        else:
            shown.append(FigureRow("", alone))
    return tuple(shown)


def _against_pods(results: StressResults) -> FigureRow:
    row = against_pods(results)
    figures = (_figure(plot, f"pods-{index}")._replace(node=plot.title) for index, plot in enumerate(row.plots))
    return FigureRow(row.title, tuple(figures))


def _figure(plot: Plot, name: str) -> Figure:
    legend = tuple((place % LINES, line.name) for place, line in enumerate(plot.lines))
    return Figure(plot.node, plot_svg(plot, name=name), legend, plot.told)
