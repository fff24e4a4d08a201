"""The document of a stress run."""

from collections.abc import Iterator, Sequence

from crashloop.predict.text import costs_in_words
from crashloop.report.chart import LINES, Chart, chart_svg
from crashloop.report.conformance import environment, facts_of, reproduce
from crashloop.report.document import (
    Badge,
    Block,
    Bullets,
    Cell,
    Document,
    Figure,
    Figures,
    Medium,
    Paragraph,
    Row,
    Section,
    Span,
    Table,
    table,
)
from crashloop.report.results import analyze_again
from crashloop.report.stress.load import (
    COUNTING,
    environment_in_words,
    load_nodes,
    open_arrivals,
    planned_load,
    ratios_in_words,
    stage_name,
    stage_rows,
    stress_headline,
)
from crashloop.report.stress.plots import against_pods, delay_charts, rows
from crashloop.report.stress.results import (
    Comparison,
    StressResults,
    requirement_results,
    run_results,
    standing_of,
    stress_again,
)
from crashloop.report.stress.served import servers
from crashloop.report.verdicts import deviations, verdict_sections
from crashloop.slo.measurements import SloVerdict

PAGE = Medium.PAGE
MAX_GROUPS = 40
"""Groups of one promise that the page shows; slo.json has all."""


def stress_document(results: StressResults) -> Document:
    """SLOs, checks of the run, requirements, the load as planned and as it was, and its costs."""
    said = stress_headline(results)
    return Document(
        title=f"{said.standing.label}: crashloop stress {results.profile}, Kubernetes {results.kubernetes_version}",
        kicker=(
            f"crashloop stress {results.profile} · Kubernetes {results.kubernetes_version} · provider {results.provider}"
        ),
        headline=said,
        facts=tuple(_stress_facts(results)),
        exit_code=results.exit_code,
        coverage="" if results.coverage is None else results.coverage.sentence,
        sections=tuple(_stress_sections(results)),
        origin=f"Written by crashloop {results.crashloop_version} from slo.json ({results.format}).",
        data="slo.json",
    )


def _stress_facts(results: StressResults) -> Iterator[tuple[str, str]]:
    yield from facts_of(results)
    yield from ((f"{name.replace('_', ' ')} in all", f"{value:,.0f}") for name, value in results.totals.items())
    yield "environment", environment_in_words(results) or "not recorded"


def _stress_sections(results: StressResults) -> Iterator[Section]:
    if results.description:
        yield Section("about", "About", (Paragraph(results.description),), PAGE)
    slos = [each for each in results.verdicts if results.row(each.slo) is not None]
    checks = [each for each in results.verdicts if results.row(each.slo) is None]
    yield Section("promises", "SLOs", tuple(_promise_blocks(slos, "Promise", SLOS, results)))
    yield Section("checks", "Checks of the run", tuple(_promise_blocks(checks, "Check", CHECKS, results)))
    if results.judged:
        yield from verdict_sections(requirement_results(results), title="Verdicts on requirements")
    known = deviations(run_results(results), DEVIATIONS)
    yield Section("deviations", "Known deviations", known, PAGE)
    yield Section("incidents", "Incidents", (Bullets(results.incidents),) if results.incidents else ())
    yield Section(
        "load",
        "Load as planned",
        (*planned_load(results), *load_nodes(results), *open_arrivals(results)),
        PAGE | Medium.SUMMARY,
    )
    yield Section("servers", "Servers", tuple(servers(results)), PAGE | Medium.SUMMARY)
    yield Section("timeline", "Load over time", tuple(_timeline_blocks(results)), PAGE)
    yield Section("stages", "Stages", tuple(_stage_blocks(results)), PAGE | Medium.SUMMARY)
    yield Section("against-pods", "Against the number of crashing pods", tuple(_against_pods_blocks(results)), PAGE)
    yield Section("delays", "Curves under load", tuple(_curve_blocks(results)), PAGE)
    for position, each in enumerate(results.comparisons):
        yield Section(f"comparison-{position + 1}", _comparison_title(each), tuple(_comparison_blocks(each)))
    yield Section("environment", "Environment", environment(results.environment), PAGE)
    evidence = "history/ with one file per pod, metrics/ with what was scraped."
    files = ("plan.json", "slo.json", "load/locust.html")
    again = reproduce(analyze_again(results), stress_again(results), *files, rest=evidence)
    yield Section("reproduce", "Reproduce", again, PAGE)


SLOS = (
    "An SLO is a promise under preconditions: if they are broken nothing was promised, and the verdict is INCONCLUSIVE. "
    "gate: a broken promise fails the run; report: it is only shown."
)
DEVIATIONS = (
    "Targets that healthy kubelets are known to miss, and not by more than here: these verdicts do not fail the run."
)
CHECKS = (
    "Whether the measurement is as planned, the evidence is complete, and no delay was cut short. They do not show how well "
    "the node coped with the load."
)


def _promise_blocks(verdicts: Sequence[SloVerdict], subject: str, note: str, results: StressResults) -> Iterator[Block]:
    if verdicts:
        yield Paragraph(note, "note", PAGE)
        ranked = sorted(verdicts, key=lambda each: (standing_of(each).rank, each.mode != "gate"))
        yield Table(("Outcome", subject, "What was seen"), tuple(_promise_row(each, results) for each in ranked))


def _promise_row(verdict: SloVerdict, results: StressResults) -> Row:
    standing, row = standing_of(verdict), results.row(verdict.slo)
    details: list[Block] = [Paragraph(row.definition, on=PAGE)] if row is not None else []
    details += [Paragraph(note, "said", PAGE) for note in verdict.notes]
    groups = [
        (
            each.phase or "–",
            ", ".join(f"{name} {value}" for name, value in each.group.items() if value) or "all",
            "–" if each.value is None else f"{each.value:.3g} {verdict.unit}",
            f"{each.samples:,}",
        )
        for each in verdict.results[:MAX_GROUPS]
    ]
    if len(groups) > 1:
        details.append(table(("phase", "group", "value", "samples"), *groups, look="numbers windows", on=PAGE))
    if row is not None:
        details.append(Paragraph(f"Source: {row.source}.", "muted", PAGE))
    needs_attention = standing.needs_attention and verdict.mode == "gate"
    seen = verdict.sentence.removeprefix(f"{verdict.slo}: ")
    return Row(
        (
            Cell((Badge.of(standing),)),
            Cell((Span(verdict.slo, "id"), f" ({verdict.mode})"), row.promise if row is not None else ""),
            Cell(seen, details=tuple(details), is_open=needs_attention),
        ),
        standing,
    )


def _timeline_blocks(results: StressResults) -> Iterator[Block]:
    """One row of plots per quantity of several nodes; quantities of one node share a row."""
    arms = "; blue is the baseline of a comparison, orange its treatment" if results.comparisons else ""
    yield Paragraph(
        f"Tinted intervals are the measured stages; between them users start and stop{arms}. One plot per node, on common "
        "axes. A dashed line is the target of an SLO, what lies beyond it is tinted; SLOs are judged within stages only. Of "
        "many dots or scrapes only the highest of neighbours is drawn, so that what is worst is always seen; the counts below "
        "a plot are of all.",
        "note",
    )
    alone: list[Figure] = []
    for number, row in enumerate(rows(results)):
        figures = tuple(_figure(chart, f"plot-{number}-{index}") for index, chart in enumerate(row.charts))
        if len(figures) == 1:
            alone.append(figures[0]._replace(heading=f"{row.title} · {row.charts[0].node}"))
            continue
        if alone:
            yield Figures(tuple(alone))
            alone = []
        yield Figures(figures, row.title)
    if alone:
        yield Figures(tuple(alone))


def _figure(chart: Chart, name: str, heading: str = "") -> Figure:
    legend = tuple((place % LINES, line.name) for place, line in enumerate(chart.lines))
    svg = chart_svg(chart, name=name)
    return Figure(heading or chart.node, svg, chart.alternative, emphasis="muted", legend=legend)


def _stage_blocks(results: StressResults) -> Iterator[Block]:
    figures = [(words, *values) for words, values in stage_rows(results)]
    yield Paragraph(
        "Figures of all nodes together. CPU of a component is that of its processes and their reaped children; lateness is "
        f"exit to create, minus the due delay. {COUNTING}",
        "note",
    )
    yield table(("figure", *map(stage_name, results.stages)), *figures, look="stages")
    if results.costs is not None:
        yield Paragraph(
            (costs_in_words(results.costs), " ", Span("crashloop predict --costs costs.json", "code"), " uses it.")
        )


def _against_pods_blocks(results: StressResults) -> Iterator[Block]:
    charts = against_pods(results).charts
    if charts:
        yield Paragraph(
            "One dot per storm, with its interval by what varied within it. The restarts leave the straight line at the "
            "knee, where the node is saturated.",
            "note",
        )
        yield Figures(tuple(_figure(each, f"pods-{index}", each.title) for index, each in enumerate(charts)))


def _curve_blocks(results: StressResults) -> Iterator[Block]:
    charts = delay_charts(results.curves)
    if charts:
        yield Paragraph(
            "Seconds from the exit to the runtime's create, by restart: due (black), lowest to highest (thin), median to p90 "
            "(thick), median (dot). One plot per node and mix, of storms only, rounds together.",
            "note",
        )
        yield Figures(tuple(_figure(each, f"delays-{index}", title) for index, (title, each) in enumerate(charts)))


def _comparison_title(comparison: Comparison) -> str:
    mix = f", {comparison.mix}" if comparison.mix else ""
    return f"{comparison.treatment} against {comparison.baseline}{mix}"


def _comparison_blocks(comparison: Comparison) -> Iterator[Block]:
    yield Paragraph(
        "Adjacent blocks of both arms are pairs, so that a drift of the host affects both. Effects that were named before the "
        "run are primary: together they raise a false alarm in at most 5 % of runs (Holm); each of the others, in 5 %. "
        "Equivalent: a difference as large as the margin is excluded. Undecided: neither was shown.",
        "note",
        PAGE,
    )
    if comparison.doubt:
        yield Paragraph(comparison.doubt)
    effects = [
        (
            f"{'primary: ' if each.primary else ''}{each.what}, {each.statistic} ({each.unit})",
            *("–" if value is None else f"{value:.3g}" for value in (each.baseline, each.treatment)),
            "–" if each.ratio is None else f"{each.ratio:.3f}",
            ratios_in_words(each.ratio_interval),
            each.reading.value,
            "–" if each.smallest_visible is None else f"{100 * (each.smallest_visible - 1):.2g} %",
        )
        for each in comparison.effects
    ]
    header = ("effect", comparison.baseline, comparison.treatment, "ratio", "95 % interval", "reading", "visible from")
    yield table(header, *effects, look="stages", on=PAGE)
    yield Bullets(tuple(each.sentence for each in comparison.effects), Medium.TEXT)
