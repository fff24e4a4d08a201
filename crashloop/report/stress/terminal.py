"""The end of a stress run on a terminal, or in a CI log. Worst last: a terminal is read from its end."""

from rich.console import Console

from crashloop.report.results import Results
from crashloop.report.standing import Standing
from crashloop.report.stress.headline import stress_headline
from crashloop.report.stress.requirements import requirement_results
from crashloop.report.stress.results import StressResults
from crashloop.report.terminal import STYLES, print_end, print_line
from crashloop.report.text import counted, took


def render_stress(results: StressResults, console: Console, *, report: str = "report.html") -> None:
    """Print one line a verdict, what was compared, and what to do next. `report` is where report.html is found."""
    ranked = sorted(results.verdicts, key=lambda each: (each.mode == "gate", -Standing(each.outcome.value).rank))
    for verdict in ranked:
        standing = Standing(verdict.outcome.value)
        mode = "" if verdict.mode == "gate" else " (report)"
        print_line(console, f"{standing.symbol} {standing.label}{mode} {verdict.sentence}", STYLES[standing])
    for comparison in results.comparisons:
        for effect in comparison.effects:
            mix = f"{comparison.mix}: " if comparison.mix else ""
            print_line(console, f"{mix}{effect.sentence}")
    for incident in results.incidents:
        print_line(console, f"incident at {incident}")
    _print_requirements(requirement_results(results), console)
    numbers = f"{counted(len(results.verdicts), 'verdict')} on SLOs and the run, {len(results.judged)} on requirements"
    summary = f"{numbers}, in {took(results.finished - results.started)}."
    print_end(stress_headline(results), summary, results, report, console)


def _print_requirements(judged: Results, console: Console) -> None:
    """One line a verdict: the sentence of the requirement, and what judged it; its finding stands above, or says why not."""
    for verdict in reversed(judged.verdicts):
        standing = Standing.of(verdict)
        by = f"By {verdict.facts['slo']}." if "slo" in verdict.facts else " ".join(verdict.findings)
        sentence = judged.requirement(verdict.requirement).sentence
        print_line(
            console, f"{standing.symbol} {standing.label} {verdict.requirement}: {sentence} {by}", STYLES[standing]
        )
