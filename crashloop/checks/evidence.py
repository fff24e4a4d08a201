"""Too little evidence for checkers that count it themselves."""

from collections.abc import Iterator, Sequence

from crashloop.checks.checker import unwatched as unwatched
from crashloop.checks.finding import Finding, inconclusive
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import why_it_ended, why_they_ended
from crashloop.words import count


def too_few(case: Case, seen: int, parameter: str, default: int, noun: str, rest: str = "") -> Iterator[Finding]:
    """That fewer were seen than this parameter of the requirement says, or `default` without it."""
    needed = int(case.number(parameter, default))
    if seen < needed:
        yield inconclusive(f"{count(seen, noun, rest)} seen, {needed} needed: {why_it_ended(case)}.")


def too_few_in_all(cases: Sequence[Case], seen: int, parameter: str, default: int, noun: str) -> Iterator[Finding]:
    """The same for scenarios that are judged together."""
    needed = int(cases[0].number(parameter, default))
    if seen < needed:
        yield inconclusive(f"{count(seen, noun)} seen, {needed} needed: {why_they_ended(cases)}.")
