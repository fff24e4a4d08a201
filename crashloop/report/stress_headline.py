"""What a stress run says in one sentence, what that means and what to do next. The same words in every view."""

from collections.abc import Callable

from crashloop.report.headline import Headline
from crashloop.report.standing import Standing
from crashloop.report.stress_results import StressResults
from crashloop.report.text import counted
from crashloop.verdict import Outcome


def stress_headline(results: StressResults) -> Headline:
    """The headline of a stress run: only verdicts that gate decide it."""
    standing = Standing(results.outcome.value)
    number = sum(1 for each in results.verdicts if each.mode == "gate" and each.outcome is results.outcome)
    missed = sum(1 for each in results.verdicts if each.mode == "report" and each.outcome is Outcome.FAIL)
    beside = f" {counted(missed, 'target')} that are only reported were missed." if missed else ""
    sentence, meaning, to_do = _WORDS[standing](results, number)
    return Headline(standing, f"{sentence}{beside}", meaning, to_do)


def _load(results: StressResults) -> str:
    restarts = results.totals.get("restarts", 0)
    return f"{restarts:,.0f} restarts in the load {results.profile} on Kubernetes {results.kubernetes_version}"


def _pass(results: StressResults, number: int) -> tuple[str, str, str]:
    return (
        f"{_load(results)}: {counted(number, 'promise is', 'promises are')} kept.",
        "Every target that gates was met where its preconditions held, with at least the samples that it asks for.",
        "Nothing. The figures below say what the load took.",
    )


def _fail(results: StressResults, number: int) -> tuple[str, str, str]:
    return (
        f"{_load(results)}: {counted(number, 'promise is', 'promises are')} broken.",
        "The preconditions held, and what was measured misses the target.",
        "Read the sentence of each broken promise; the stages' figures say what was scarce. "
        "On a host that is busy with other things, run again when it is calm.",
    )


def _inconclusive(results: StressResults, number: int) -> tuple[str, str, str]:
    return (
        f"{_load(results)}: evidence is missing for {counted(number, 'verdict')}.",
        "Nothing accuses Kubernetes, but the load was not what was planned, a precondition was broken, or samples are few.",
        "Each sentence names what is missing.",
    )


def _error(results: StressResults, number: int) -> tuple[str, str, str]:
    return (
        f"{_load(results)}: {counted(number, 'verdict')} could not be reached.",
        "The fault lies with this suite, its rows or the host, not with Kubernetes; what was recorded is kept.",
        "Read the sentences; a row that names an unknown metric is wrong itself.",
    )


_WORDS: dict[Standing, Callable[[StressResults, int], tuple[str, str, str]]] = {
    Standing.PASS: _pass,
    Standing.FAIL: _fail,
    Standing.INCONCLUSIVE: _inconclusive,
    Standing.ERROR: _error,
    Standing.SKIPPED: _inconclusive,
}
