"""The headline of a run, its meaning, and what to do next; the same in every view."""

from collections import Counter
from collections.abc import Iterable

from crashloop.report.document import Headline
from crashloop.report.results import Results
from crashloop.report.standing import Standing
from crashloop.report.text import counted
from crashloop.spec.requirement import Basis


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


def _fail(results: Results, number: int) -> tuple[str, str, str]:
    broken = {verdict.requirement for verdict in results.verdicts if verdict.fails_the_run}
    return (
        f"{counted(number, 'verdict')} {'accuses' if number == 1 else 'accuse'} {_kubernetes(results)} "
        f"of breaking {counted(len(broken), 'requirement')}{_by_basis(results, broken)}.",
        "The container runtime's events or the containers' own journals prove a breach of the requirement, "
        "and neither the host nor lost evidence explains it.",
        "Read the findings, then the lines of the history that they name. "
        "If upstream knows about it, describe it in deviations.yaml; if not, this run directory is the bug report.",
    )


def _kubernetes(results: Results) -> str:
    """`Kubernetes 1.37.1`; where kubelets have versions of their own, with all that the run has."""
    cluster = results.kubernetes_version
    kubelets = {each.kubernetes_version or cluster for each in results.profiles}
    named = f" (kubelets {', '.join(sorted(kubelets))})" if kubelets - {cluster} else ""
    return f"Kubernetes {cluster}{named}"


def _by_basis(results: Results, broken: Iterable[str]) -> str:
    """`: 1 of a promise, 1 of the source`; empty where a catalogue did not say."""
    bases = Counter(results.requirement(name).basis for name in broken)
    parts = [f"{bases[basis]} of {words}" for basis, words in _BASES.items() if bases[basis]]
    return f": {', '.join(parts)}" if parts and not bases[None] else ""


_BASES = {Basis.PROMISE: "a promise", Basis.SOURCE: "the source"}


def _error(_: Results, number: int) -> tuple[str, str, str]:
    return (
        f"{counted(number, 'verdict')} could not be reached.",
        "The fault lies with this suite or the host, not with Kubernetes; the recording is kept.",
        "Read the findings and recorder.log. After a fix of the suite judge the same history again: see Reproduce.",
    )


def _inconclusive(results: Results, number: int) -> tuple[str, str, str]:
    if number == 0 and results.coverage is not None:
        return (
            f"Too little was judged: {results.coverage.sentence}",
            "Nothing that was judged accuses Kubernetes, but a run that judges so little proves little.",
            "The findings name what was missing. Give the run what it lacks, or lower --at-least.",
        )
    return (
        f"Evidence is missing for {counted(number, 'verdict')}.",
        "Nothing accuses Kubernetes, but the recording does not suffice to prove that the requirement holds.",
        "The findings name the missing evidence. Repeat the run on a quieter host, or with a wider --scope.",
    )


def _pass(results: Results, number: int) -> tuple[str, str, str]:
    known, shown = results.counts[Standing.DEVIATION], results.counts.get(Standing.REPORTED, 0)
    besides = f", {counted(known, 'verdict is a known deviation', 'verdicts are known deviations')}" if known else ""
    passes = f"restarts containers as documented: {counted(number, 'verdict passes', 'verdicts pass')}{besides}"
    deviates = f"has only known deviations from its documentation: {counted(known, 'verdict')}"
    measured = "was measured only, and nothing was judged that could fail"
    reported = f"; {counted(shown, 'verdict is', 'verdicts are')} only reported" if shown else ""
    wrong = results.counts.get(Standing.TEXT, 0)
    reported += f"; {counted(wrong, 'text', 'texts')} with wrong sums" if wrong else ""
    return (
        f"{_kubernetes(results)} {passes if number else deviates if known else measured}{reported}.",
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
