"""summary.md of a stress run, for a GitHub job summary."""

from crashloop.predict.text import costs_in_words
from crashloop.report.markdown import code, escaped, markdown_headline, table, verdict_table
from crashloop.report.standing import Standing
from crashloop.report.stress.headline import stress_headline
from crashloop.report.stress.requirements import requirement_results
from crashloop.report.stress.results import OpenModel, StressResults
from crashloop.report.stress.text import COUNTING, environment_in_words, stage_name, stage_rows
from crashloop.report.text import took


def to_stress_markdown(results: StressResults) -> str:
    """The summary."""
    blocks = [
        *markdown_headline(stress_headline(results)),
        f"crashloop stress {code(results.profile)} on Kubernetes {escaped(results.kubernetes_version)}, provider "
        f"{escaped(results.provider)}, in {took(results.finished - results.started)}. Exit code {results.exit_code}.",
        f"Environment: {escaped(environment_in_words(results) or 'not recorded')}.",
        "### SLOs",
        _verdicts(results, checks=False),
        "### Checks of the run",
        _verdicts(results, checks=True),
        *_requirements(results),
        "### Load",
        *_load(results),
        "### Stages",
        _stages(results),
        COUNTING,
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


def _verdicts(results: StressResults, *, checks: bool) -> str:
    """SLOs, or the checks of the run itself."""
    rows = []
    for verdict in results.verdicts:
        standing, row = Standing(verdict.outcome.value), results.row(verdict.slo)
        if checks is (row is not None):
            continue
        outcome, said = (
            f"{standing.symbol} {standing.label}",
            escaped(verdict.sentence.removeprefix(f"{verdict.slo}: ")),
        )
        rows.append((outcome, code(verdict.slo), *(() if row is None else (verdict.mode, escaped(row.promise))), said))
    header = ("Outcome", "Check", "What was seen") if checks else ("Outcome", "SLO", "Mode", "Promise", "What was seen")
    return table(header, rows, rest="slo.json")


def _requirements(results: StressResults) -> list[str]:
    judged = requirement_results(results)
    if not judged.verdicts or judged.coverage is None:
        return []
    return ["### Requirements", verdict_table(judged.verdicts, judged), escaped(judged.coverage.sentence)]


def _load(results: StressResults) -> list[str]:
    blocks = []
    if results.planned is not None:
        loads = [
            (code(each.name), escaped(each.node), escaped(each.user), escaped(each.users))
            for each in results.planned.loads
        ]
        blocks.append(table(("Load", "Node", "One user is", "Users"), loads, rest="slo.json"))
    nodes = [(escaped(each.name), code(each.profile), escaped(each.curve or "unknown")) for each in results.nodes]
    blocks.append(table(("Node", "Kubelet profile", "Delays"), nodes, rest="slo.json"))
    if results.arrivals:
        arrivals = [
            (code(each.load), *map(str, (each.intended, each.made, each.dropped, each.failed)), _late(each))
            for each in results.arrivals
        ]
        header = ("Arrivals of", "intended", "made", "dropped", "failed", "sent late, p99 (s)")
        blocks.append(table(header, arrivals, rest="slo.json"))
    return blocks


def _late(each: OpenModel) -> str:
    return "–" if each.late_p99_s is None else f"{each.late_p99_s:.3f}"


def _stages(results: StressResults) -> str:
    rows = [(escaped(words), *map(escaped, values)) for words, values in stage_rows(results)]
    return table(("", *(escaped(stage_name(each)) for each in results.stages)), rows, rest="slo.json")


def _compared(results: StressResults) -> list[str]:
    blocks = []
    for each in results.comparisons:
        mix = f" ({escaped(each.mix)})" if each.mix else ""
        blocks.append(f"### {code(each.treatment)} against {code(each.baseline)}{mix}")
        blocks.append("\n".join(f"- {escaped(effect.sentence)}" for effect in each.effects))
    return blocks
