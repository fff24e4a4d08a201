"""Verdicts: one value per requirement, scenario and profile. Worst wins; a crash never reads as a pass."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec


class Outcome(StrEnum):
    """What a verdict says, worst first."""

    FAIL = "FAIL"
    """Accuses Kubernetes."""
    ERROR = "ERROR"
    """Accuses this suite or the host."""
    INCONCLUSIVE = "INCONCLUSIVE"
    """Says which evidence is missing."""
    PASS = "PASS"
    SKIPPED = "SKIPPED"
    """Before a run only: names the missing capability, gate or version."""


_WORST_FIRST = tuple(Outcome)


class VerdictMode(StrEnum):
    """What a verdict decides."""

    GATE = "gate"
    """The outcome of the run."""
    REPORT = "report"
    """Nothing: what was seen is shown."""


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome that stands for all; SKIPPED for none."""
    return min(outcomes, key=_WORST_FIRST.index, default=Outcome.SKIPPED)


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Where a finding stands: lines of a file of the run directory, counted from 1."""

    file: str
    lines: tuple[int, ...] = ()


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of one requirement on one scenario."""

    requirement: str
    scenario: str
    profile: str
    outcome: Outcome
    mode: VerdictMode = VerdictMode.GATE
    findings: tuple[str, ...] = ()
    """One sentence each: what was seen, what was due. For SKIPPED and INCONCLUSIVE: what is missing."""
    evidence: tuple[Evidence, ...] = ()
    deviation: str | None = None
    """Entry of deviations.yaml whose model explains the history; such a FAIL does not fail the run."""
    facts: dict[str, Any] = {}
    """Numbers behind the verdict, for the report: delays seen and due, counts."""

    @property
    def counts(self) -> bool:
        """Whether its outcome is one of the run."""
        return self.mode is VerdictMode.GATE and self.deviation is None

    @property
    def fails_the_run(self) -> bool:
        return self.outcome is Outcome.FAIL and self.counts


class ExitCode:
    """Exit codes of pytest runs and of `crashloop`."""

    OK = 0
    FAIL = 1
    USAGE = 2
    INCONCLUSIVE = 3
    ERROR = 70
    INTERRUPTED = 130


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """The exit code of a run: 0, or 1, 70 or 3 by the worst of what counts; 2 for none at all."""
    seen = list(verdicts)
    if not seen:
        return ExitCode.USAGE
    outcome = worst(verdict.outcome for verdict in seen if verdict.counts)
    return {
        Outcome.FAIL: ExitCode.FAIL,
        Outcome.ERROR: ExitCode.ERROR,
        Outcome.INCONCLUSIVE: ExitCode.INCONCLUSIVE,
    }.get(outcome, ExitCode.OK)
