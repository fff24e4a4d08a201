"""The output of checkers: findings with the lines that prove them, and their numbers."""

from collections.abc import Iterable
from typing import Any

import msgspec

from crashloop.verdict import Missed, Outcome, worst


class Finding(msgspec.Struct, frozen=True):
    """One sentence: what was seen, what was due. `lines` are lines of the history, counted from 1."""

    outcome: Outcome
    sentence: str
    lines: tuple[int, ...] = ()
    places: tuple[tuple[str, int], ...] = ()
    """The same for a comparison: scenarios and lines of their histories."""
    missed: Missed | None = None
    """The restart that came outside of its window."""
    is_excused: bool = False
    """Whether it would be an accusation but for what is said to excuse it."""
    is_too_short: bool = False
    """Whether it says only that something was not watched for long enough to say that nothing comes, or nothing else."""

    def at(self, *histories: tuple[str, Iterable[int]]) -> "Finding":
        """The same, resting on lines of the histories of these scenarios."""
        places = tuple((scenario, line) for scenario, lines in histories for line in lines)
        return msgspec.structs.replace(self, lines=(), places=places)

    def in_history(self, scenario: str) -> "Finding":
        """The finding about one history as one about a comparison."""
        told = msgspec.structs.replace(self, sentence=f"in {scenario}: {self.sentence}")
        return told.at((scenario, self.lines))


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """How much of one kind of evidence there was, and how much a PASS needs at least."""

    noun: str
    rest: str
    seen: int
    needed: int


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of one checker. No finding at all means PASS, so a checker reports missing evidence as a finding."""

    findings: tuple[Finding, ...] = ()
    facts: dict[str, Any] = {}
    fewest: Observed | None = None
    """The kind of evidence of which the fewest were seen, among those that a PASS needs; None if nothing is counted."""

    @property
    def outcome(self) -> Outcome:
        return worst([finding.outcome for finding in self.findings] or [Outcome.PASS])


def fewest_of(observed: Iterable[Observed | None]) -> Observed | None:
    """The one of which the fewest were seen; None if there is none."""
    return min((each for each in observed if each is not None), key=lambda each: each.seen, default=None)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """In the order of their outcomes; those of one outcome stay as they are."""
    return sorted(findings, key=lambda each: tuple(Outcome).index(each.outcome))


def fail(sentence: str, *lines: int) -> Finding:
    """An accusation of Kubernetes."""
    return Finding(Outcome.FAIL, sentence, lines)


def inconclusive(sentence: str, *lines: int) -> Finding:
    """Evidence that is missing or that cannot decide."""
    return Finding(Outcome.INCONCLUSIVE, sentence, lines)


def too_short(sentence: str, *lines: int) -> Finding:
    """A recording that does not show what the sentence asks for, because it ended before or its scenario was not carried out.

    It casts no doubt on what it has shown.
    """
    return Finding(Outcome.INCONCLUSIVE, sentence, lines, is_too_short=True)


def fail_unless(doubt: str | None, sentence: str, *lines: int) -> Finding:
    """An accusation of Kubernetes; inconclusive, followed by the doubt as a sentence, where there is one."""
    if doubt is None:
        return fail(sentence, *lines)
    return Finding(Outcome.INCONCLUSIVE, f"{sentence} {doubt}.", lines, is_excused=True)


def error(sentence: str, *lines: int) -> Finding:
    """A fault of this suite or of the host."""
    return Finding(Outcome.ERROR, sentence, lines)
