"""Classifies the change between two verdicts."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from crashloop.report.standing import Standing
from crashloop.verdict import ExitCode


class Change(StrEnum):
    """From the first run to the second, gravest first."""

    WORSE = "worse"
    """A promise that was kept, or not judged, is broken now, or its judgement ended in an error."""
    UNDECIDED = "undecided"
    """One of the two runs lacks the evidence for a comparison."""
    BETTER = "better"
    ALLOWED = "allowed"
    """Only one run judged it; the other names a missing capability, does not have the scenario yet, or only reported it."""
    SAME = "same"

    @property
    def rank(self) -> int:
        """0 for the gravest."""
        return _GRAVEST_FIRST.index(self)


_GRAVEST_FIRST = tuple(Change)

_ACCUSES = frozenset({Standing.FAIL, Standing.ERROR})
_KEPT = frozenset({Standing.PASS, Standing.DEVIATION})


class ScenarioOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How one run judged a requirement on a scenario."""

    standing: Standing
    findings: tuple[str, ...] = ()
    deviation: str | None = None

    @property
    def states_what_it_lacks(self) -> bool:
        """SKIPPED, with the missing capability, gate or version named."""
        return self.standing is Standing.SKIPPED and bool(self.findings)


def change(before: ScenarioOutcome | None, after: ScenarioOutcome | None) -> Change:
    """The change of one requirement on one scenario; None where a run did not judge it.

    A new accusation is worse, whatever the first run said: a comparison may not hide it.
    """
    old, new = (None if each is None else each.standing for each in (before, after))
    if old is new:
        return Change.SAME
    if new in _ACCUSES:
        return Change.UNDECIDED if old is Standing.FAIL else Change.WORSE
    if old in _ACCUSES:
        return Change.BETTER if new in _KEPT else Change.UNDECIDED
    if Standing.REPORTED in (old, new):
        return Change.ALLOWED
    if old in _KEPT and new in _KEPT:
        return Change.WORSE if new is Standing.DEVIATION else Change.BETTER
    if Standing.INCONCLUSIVE in (old, new):
        return Change.UNDECIDED
    return Change.ALLOWED if _is_explained(before, after) else Change.UNDECIDED


def _is_explained(before: ScenarioOutcome | None, after: ScenarioOutcome | None) -> bool:
    """Whether the run without a verdict has a reason: it names a missing capability, or it is older than the scenario."""
    if before is None:
        return True
    if after is None:
        return before.standing is Standing.SKIPPED
    silent = before if before.standing is Standing.SKIPPED else after
    return silent.states_what_it_lacks


def gravest(changes: Iterable[Change]) -> Change:
    """The gravest of the changes; SAME for none."""
    return min(changes, key=_GRAVEST_FIRST.index, default=Change.SAME)


def exit_code(changes: Iterable[Change]) -> int:
    """1 if anything got worse, 3 if the worst is undecided, else 0."""
    return {Change.WORSE: ExitCode.FAIL, Change.UNDECIDED: ExitCode.INCONCLUSIVE}.get(gravest(changes), ExitCode.OK)
