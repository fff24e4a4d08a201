"""Tables of the page, from the results of a run."""

from collections.abc import Iterable

from crashloop.predict.words import costs_in_words
from crashloop.report.figure_words import FIGURES, figure_text
from crashloop.report.markdown import escaped
from crashloop.report.standing import Standing
from crashloop.report.stress_results import StageResult, StressResults
from crashloop.slo.compare import Effect


def about(results: StressResults) -> str:
    """Which run it was, and where."""
    return (
        f"Run `{escaped(results.run)}`: profile `{escaped(results.profile)}`, Kubernetes {results.kubernetes_version}, "
        f"{results.totals['pods']:,.0f} pods, {results.totals['restarts']:,.0f} restarts, "
        f"{results.totals['history_events']:,.0f} recorded events, crashloop {results.crashloop_version}."
    )


def stages(results: StressResults) -> str:
    """Figures by stage; figures that no stage has are left out."""
    names = [name for name in FIGURES if any(each.figures.get(name) is not None for each in results.stages)]
    header = ("", *(_stage(each) for each in results.stages))
    return _table(
        header,
        ((FIGURES[name], *(figure_text(each.figures.get(name)) for each in results.stages)) for name in names),
    )


def verdicts(results: StressResults) -> str:
    """What became of each promise."""
    rows = []
    for verdict in results.verdicts:
        standing = Standing(verdict.outcome.value)
        rows.append((f"{standing.symbol} {standing.label}", verdict.mode, escaped(verdict.sentence)))
    return _table(("outcome", "mode", "what was seen"), rows)


def compared(results: StressResults) -> str:
    """Treatment against baseline, one table a mix."""
    blocks = []
    for each in results.comparisons:
        header = (each.mix or "all", each.baseline, each.treatment, "ratio", "95 % interval", "reading")
        blocks.append(_table(header, (_effect(effect) for effect in each.effects)))
    return "\n\n".join(blocks)


def costs(results: StressResults) -> str:
    return costs_in_words(results.costs) if results.costs else ""


def _effect(effect: Effect) -> tuple[str, ...]:
    spread = effect.ratio_interval
    return (
        f"{effect.what}, {effect.statistic} ({effect.unit})",
        figure_text(effect.baseline),
        figure_text(effect.treatment),
        figure_text(effect.ratio),
        "–" if spread is None else f"{figure_text(spread.lower)} to {figure_text(spread.upper)}",
        effect.reading.value,
    )


def _stage(stage: StageResult) -> str:
    return " ".join(filter(None, (stage.name, stage.mix, stage.arm)))


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    columns = list(header)
    lines = [columns, ["---", *(["--:"] * (len(columns) - 1))], *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
