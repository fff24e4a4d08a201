"""The headline of a run, its meaning, and what to do next; the same in every view."""

from typing import NamedTuple

from crashloop.report.results import Results
from crashloop.report.standing import Standing
from crashloop.report.text import counted


class Headline(NamedTuple):
    """The headline of a run."""

    standing: Standing
    sentence: str
    meaning: str
    to_do: str


def headline(results: Results) -> Headline:
    """The headline of a run. Its standing is that of the worst verdict which no known deviation explains."""
    standing = Standing(results.outcome.value)
    number = results.counts[standing]
    if not results.verdicts:
        return Headline(
            standing,
            "Nothing was judged.",
            "No requirement was selected, so this run proves nothing about Kubernetes.",
            "Select tests with --scope, or by path.",
        )
    return Headline(standing, *_WORDS[standing](results, number))


def tally(results: Results) -> str:
    """`97 verdicts`, or `judged 65 of 97 verdicts` where some were skipped."""
    total = len(results.verdicts)
    skipped = results.counts[Standing.SKIPPED]
    return f"judged {total - skipped} of {counted(total, 'verdict')}" if skipped else counted(total, "verdict")


def _fail(results: Results, number: int) -> tuple[str, str, str]:
    broken = len({verdict.requirement for verdict in results.verdicts if verdict.fails_the_run})
    return (
        f"{counted(number, 'verdict')} {'accuses' if number == 1 else 'accuse'} Kubernetes "
        f"{results.kubernetes_version} of breaking {counted(broken, 'requirement')}.",
        "The container runtime's events or the containers' own journals prove a breach of the requirement, "
        "and neither the host nor lost evidence explains it.",
        "Read the findings, then the lines of the history that they name. "
        "If upstream knows about it, describe it in deviations.yaml; if not, this run directory is the bug report.",
    )


def _error(_: Results, number: int) -> tuple[str, str, str]:
    return (
        f"{counted(number, 'verdict')} could not be reached.",
        "The fault lies with this suite or the host, not with Kubernetes; the recording is kept.",
        "Read the findings and recorder.log. After a fix of the suite judge the same history again: see Reproduce.",
    )


def _inconclusive(_: Results, number: int) -> tuple[str, str, str]:
    return (
        f"Evidence is missing for {counted(number, 'verdict')}.",
        "Nothing accuses Kubernetes, but the recording does not suffice to prove that the requirement holds.",
        "The findings name the missing evidence. Repeat the run on a quieter host, or with a wider --scope.",
    )


def _pass(results: Results, number: int) -> tuple[str, str, str]:
    known = results.counts[Standing.DEVIATION]
    besides = f", {counted(known, 'verdict is a known deviation', 'verdicts are known deviations')}" if known else ""
    passes = f"restarts containers as documented: {counted(number, 'verdict passes', 'verdicts pass')}{besides}"
    deviates = f"has only known deviations from its documentation: {counted(known, 'verdict')}"
    return (
        f"Kubernetes {results.kubernetes_version} {passes if number else deviates}.",
        "All judged requirements hold in both directions, with at least the evidence that they require.",
        "Nothing. The run directory can be judged again at any time.",
    )


def _skipped(results: Results, _: int) -> tuple[str, str, str]:
    return (
        f"Nothing was judged: {counted(len(results.verdicts), 'verdict')} skipped.",
        "The provider, the Kubernetes version or the feature gates lack a need of the selected requirements.",
        "The findings name the missing needs.",
    )


_WORDS = {
    Standing.FAIL: _fail,
    Standing.ERROR: _error,
    Standing.INCONCLUSIVE: _inconclusive,
    Standing.PASS: _pass,
    Standing.SKIPPED: _skipped,
}
