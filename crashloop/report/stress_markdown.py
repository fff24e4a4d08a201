"""summary.md of a stress run, for a GitHub job summary."""

from crashloop.predict.words import costs_in_words
from crashloop.report.figure_words import FIGURES, figure_text
from crashloop.report.markdown import code, escaped, table
from crashloop.report.standing import Standing
from crashloop.report.stress_headline import stress_headline
from crashloop.report.stress_results import StressResults
from crashloop.report.text import took


def to_stress_markdown(results: StressResults) -> str:
    """The summary."""
    said = stress_headline(results)
    blocks = [
        f"## {said.standing.symbol} {said.standing.label}: {escaped(said.sentence)}",
        escaped(said.meaning),
        f"**What to do:** {escaped(said.to_do)}",
        f"crashloop stress {code(results.profile)} on Kubernetes {escaped(results.kubernetes_version)}, provider "
        f"{escaped(results.provider)}, in {took(results.finished - results.started)}. Exit code {results.exit_code}.",
        "### Promises",
        _verdicts(results),
        "### Stages",
        _stages(results),
        *([escaped(costs_in_words(results.costs))] if results.costs else []),
        *_compared(results),
        *(
            ["### Incidents", "\n".join(f"- {escaped(each)}" for each in results.incidents)]
            if results.incidents
            else []
        ),
        f"The plots are in report.html of run {code(results.run)}.",
    ]
    return "\n\n".join(blocks) + "\n"


def _verdicts(results: StressResults) -> str:
    rows = []
    for verdict in results.verdicts:
        standing, row = Standing(verdict.outcome.value), results.row(verdict.slo)
        promise = escaped(row.promise) if row else ""
        outcome = f"{standing.symbol} {standing.label}"
        rows.append((outcome, code(verdict.slo), verdict.mode, promise, escaped(verdict.sentence)))
    return table(("Outcome", "SLO", "Mode", "Promise", "What was seen"), rows, rest="slo.json")


def _stages(results: StressResults) -> str:
    rows = [
        (escaped(words), *(figure_text(each.figures.get(name)) for each in results.stages))
        for name, words in FIGURES.items()
    ]
    labels = (escaped(" ".join(filter(None, (each.name, each.mix, each.arm)))) for each in results.stages)
    return table(("", *labels), rows, rest="slo.json")


def _compared(results: StressResults) -> list[str]:
    blocks = []
    for each in results.comparisons:
        mix = f" ({escaped(each.mix)})" if each.mix else ""
        blocks.append(f"### {code(each.treatment)} against {code(each.baseline)}{mix}")
        blocks.append("\n".join(f"- {escaped(effect.sentence)}" for effect in each.effects))
    return blocks
