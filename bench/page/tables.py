"""Tables of the page, from the results of a run."""

from crashloop.predict.text import costs_in_words, figure
from crashloop.report.markdown import escaped, table
from crashloop.report.standing import Standing
from crashloop.report.stress.load import ratios_in_words, stage_name, stage_rows
from crashloop.report.stress.results import StressResults
from crashloop.slo.compare import Effect


def about(results: StressResults) -> str:
    """Which run it was."""
    totals = results.totals
    return (
        f"{results.started:%Y-%m-%d}, Kubernetes {results.kubernetes_version}, crashloop {results.crashloop_version}: "
        f"{totals['pods']:,.0f} pods, {totals['restarts']:,.0f} restarts, {totals['history_events']:,.0f} recorded events."
    )


def stages(results: StressResults) -> str:
    """Figures by stage; figures that no stage has are left out."""
    filled = (row for row in stage_rows(results) if set(row[1]) != {"–"})
    return table(("", *map(stage_name, results.stages)), [(words, *values) for words, values in filled], right=True)


def verdicts(results: StressResults) -> str:
    """The verdict of every promise."""
    rows = []
    for verdict in results.verdicts:
        standing = Standing(verdict.outcome.value)
        rows.append((f"{standing.symbol} {standing.label}", verdict.mode, escaped(verdict.sentence)))
    return table(("outcome", "mode", "what was seen"), rows)


def requirements(results: StressResults) -> str:
    """What the promises show of the requirements that they belong to."""
    sentences = {each.id: escaped(each.sentence) for each in results.requirements}
    rows = []
    for verdict in results.judged:
        if "slo" in verdict.facts:
            standing = Standing.of(verdict)
            seen = "<br>".join(escaped(each.removeprefix(f"{verdict.requirement}: ")) for each in verdict.findings)
            rows.append(
                (verdict.requirement, sentences[verdict.requirement], f"{standing.symbol} {standing.label}", seen)
            )
    return table(("", "requirement", "outcome", "what was seen"), rows)


def compared(results: StressResults) -> str:
    """Treatment against baseline, one table per mix."""
    blocks = []
    for each in results.comparisons:
        header = (each.mix, each.baseline, each.treatment, "ratio", "95 % interval", "reading")
        blocks.append(table(header, map(_effect, each.effects), right=True))
    return "\n\n".join(blocks)


def costs(results: StressResults) -> str:
    """What one restart cost."""
    return costs_in_words(results.costs) if results.costs else "Too few restarts to measure the cost of one."


def _effect(effect: Effect) -> tuple[str, ...]:
    values = ("–" if each is None else figure(each) for each in (effect.baseline, effect.treatment, effect.ratio))
    what = f"{effect.what}, {effect.statistic} ({effect.unit})"
    return what, *values, ratios_in_words(effect.ratio_interval), effect.reading.value
