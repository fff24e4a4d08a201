"""The verdicts of a node beside the expected ones. Pure."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from crashloop.verdict import ExitCode, Outcome, Verdict, exit_code, run_outcome, worst
from quality.planted import Expectation, Planted


class NodeRow(msgspec.Struct, frozen=True, kw_only=True):
    """One node in the table."""

    planted: Planted
    outcome: Outcome
    """The worst of the node's verdicts."""
    requirements: tuple[str, ...]
    """The requirements with this outcome; none for PASS."""
    finding: str
    """The finding of the first expected requirement; empty for PASS."""
    objections: tuple[str, ...] = ()
    """Differences from the expectation."""

    @property
    def as_expected(self) -> bool:
        return not self.objections


def compare(planted: Iterable[Planted], verdicts: Sequence[Verdict]) -> tuple[NodeRow, ...]:
    """One row per node, in the given order."""
    return tuple(row_of(each, [verdict for verdict in verdicts if each.judged_by(verdict)]) for each in planted)


def row_of(planted: Planted, verdicts: Sequence[Verdict]) -> NodeRow:
    """The row of one kubelet, from all its verdicts."""
    outcome = worst(verdict.outcome for verdict in verdicts)
    worst_ones = [verdict for verdict in verdicts if verdict.outcome is outcome and outcome is not Outcome.PASS]
    return NodeRow(
        planted=planted,
        outcome=outcome,
        requirements=tuple(dict.fromkeys(verdict.requirement for verdict in worst_ones)),
        finding=_finding(planted.expected, worst_ones),
        objections=tuple(_objections(planted.expected, verdicts)),
    )


def _finding(expected: Expectation, verdicts: Sequence[Verdict]) -> str:
    """A finding of the first expected requirement, with the expected words if any has them."""
    by_expectation = sorted(verdicts, key=lambda each: each.requirement not in expected.requirements[:1])
    found = [finding for verdict in by_expectation for finding in verdict.findings]
    return next((each for each in found if expected.says in each), found[0] if found else "")


def _objections(expected: Expectation, verdicts: Sequence[Verdict]) -> Iterator[str]:
    if not verdicts:
        yield "no verdict at all; the node was not judged"
        return
    match expected.outcome:
        case Outcome.FAIL:
            yield from _uncaught(expected, verdicts)
        case Outcome.PASS:
            yield from (_sentence(each) for each in verdicts if each.outcome is not Outcome.PASS)
        case _:
            yield from (_sentence(each) for each in verdicts if each.outcome is Outcome.FAIL)
            yield from _unnoticed(expected, verdicts)


def _uncaught(expected: Expectation, verdicts: Sequence[Verdict]) -> Iterator[str]:
    code = exit_code(run_outcome(verdicts))
    if code != ExitCode.FAIL:
        yield f"exit code {code}; {ExitCode.FAIL} was expected"
    for requirement in expected.requirements:
        judged = [each for each in verdicts if each.requirement == requirement]
        failed = [each for each in judged if each.fails_the_run]
        if not failed:
            yield f"{requirement} is {worst(each.outcome for each in judged)}; {Outcome.FAIL} was expected"
        elif not any(_says(each, expected.says) for each in failed):
            yield _silent_about(expected.says, failed[0])
    yield from (_sentence(each) for each in verdicts if each.requirement in expected.spares and each.fails_the_run)


def _unnoticed(expected: Expectation, verdicts: Sequence[Verdict]) -> Iterator[str]:
    for each in verdicts:
        if each.requirement not in expected.requirements:
            continue
        if each.outcome is not expected.outcome:
            yield f"{_sentence(each)}; {expected.outcome} was expected"
        elif not _says(each, expected.says):
            yield _silent_about(expected.says, each)


def _says(verdict: Verdict, words: str) -> bool:
    return any(words in finding for finding in verdict.findings)


def _silent_about(words: str, verdict: Verdict) -> str:
    return f'{verdict.requirement} on {verdict.scenario} does not say "{words}": {" ".join(verdict.findings)}'


def _sentence(verdict: Verdict) -> str:
    return " ".join((f"{verdict.requirement} on {verdict.scenario} is {verdict.outcome}.", *verdict.findings))
