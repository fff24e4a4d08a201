"""The standing of a verdict in its run: its outcome, unless a known deviation explains it or it is only reported."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from crashloop.verdict import Outcome, Verdict, VerdictMode


class Standing(StrEnum):
    """Worst first, as every view sorts them."""

    FAIL = "FAIL"
    ERROR = "ERROR"
    INCONCLUSIVE = "INCONCLUSIVE"
    DEVIATION = "DEVIATION"
    """A FAIL that the deviating model of deviations.yaml explains."""
    REPORTED = "REPORTED"
    """Not a PASS, of a requirement that is only reported."""
    TEXT = "TEXT"
    """The arithmetic of a text is wrong; no kubelet is accused."""
    PASS = "PASS"
    SKIPPED = "SKIPPED"

    @staticmethod
    def of(verdict: Verdict) -> "Standing":
        if verdict.deviation is not None:
            return Standing.DEVIATION
        if verdict.mode is VerdictMode.TEXT and verdict.outcome is Outcome.FAIL:
            return Standing.TEXT
        if verdict.mode is VerdictMode.REPORT and verdict.outcome not in (Outcome.PASS, Outcome.SKIPPED):
            return Standing.REPORTED
        return Standing(verdict.outcome.value)

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return _WORST_FIRST.index(self)

    @property
    def label(self) -> str:
        """As people read it."""
        return _LABELS.get(self, self.value)

    @property
    def symbol(self) -> str:
        """One character, so that outcomes differ not only by colour."""
        return _SYMBOLS[self]

    @property
    def needs_attention(self) -> bool:
        """Whether it requires an action of the reader."""
        return self in (Standing.FAIL, Standing.ERROR, Standing.INCONCLUSIVE)


_WORST_FIRST = tuple(Standing)

_LABELS = {Standing.DEVIATION: "KNOWN DEVIATION", Standing.TEXT: "TEXT IS WRONG"}

_SYMBOLS = {
    Standing.FAIL: "✗",
    Standing.ERROR: "!",
    Standing.INCONCLUSIVE: "?",
    Standing.DEVIATION: "≠",
    Standing.REPORTED: "○",
    Standing.TEXT: "¶",
    Standing.PASS: "✓",
    Standing.SKIPPED: "–",
}


_REPORTED = {
    Outcome.FAIL: "was not kept",
    Outcome.ERROR: "could not be judged for an error",
    Outcome.INCONCLUSIVE: "could not be judged",
}


def reported(verdict: Verdict) -> str:
    """What became of a requirement that is only reported, as a sentence; empty for every other standing."""
    if Standing.of(verdict) is Standing.TEXT:
        return f"The text of {verdict.requirement} is wrong by its own assumptions; no kubelet is accused."
    if Standing.of(verdict) is not Standing.REPORTED:
        return ""
    return f"Only reported: {verdict.requirement} {_REPORTED[verdict.outcome]}, which does not fail the run."


def count(verdicts: Iterable[Verdict]) -> dict[Standing, int]:
    """Verdicts by standing, worst first, with every standing."""
    seen = Counter(Standing.of(verdict) for verdict in verdicts)
    return {standing: seen[standing] for standing in Standing}


def worst_standing(verdicts: Iterable[Verdict]) -> Standing:
    """The worst standing; SKIPPED for none."""
    return min((Standing.of(verdict) for verdict in verdicts), key=_WORST_FIRST.index, default=Standing.SKIPPED)
