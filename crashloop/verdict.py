"""Verdicts: one value per requirement, scenario and profile. Worst wins; a crash never reads as a pass."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import PurePosixPath
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
    """Nothing: the observation is shown."""
    TEXT = "text"
    """Nothing: a FAIL says that a text is wrong, and accuses no kubelet."""


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome that stands for all; SKIPPED for none."""
    return min(outcomes, key=_WORST_FIRST.index, default=Outcome.SKIPPED)


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Where a finding stands: lines of a file of the run directory, counted from 1."""

    file: str
    lines: tuple[int, ...] = ()

    @property
    def scenario(self) -> str:
        """The scenario whose history it is, if it is one."""
        return PurePosixPath(self.file).stem


class Missed(msgspec.Struct, frozen=True, kw_only=True):
    """A restart outside of its window. Seconds count from the exit."""

    number: int
    """1 for the first restart."""
    container: str
    verb: str
    """came or was created"""
    taken_s: float
    """Below 0 for a start that no exit had called for."""
    due_s: float
    latest_s: float | None = None
    """None for an early restart."""


class Ground(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one finding rests on."""

    scenario: str = ""
    """Whose history; empty: none."""
    profile: str = ""
    lines: tuple[int, ...] = ()
    """Of that history."""
    missed: Missed | None = None
    """The restart that it is about, if that came outside of its window."""


FEWEST = "fewest"
"""Key of the facts of a PASS: of which kind of evidence (`noun`, `rest`) it has the fewest, how many, and how many it needs."""
COMPARED = "compared"
"""Key of the facts of each scenario, by name, in those of a comparison."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of one requirement on one scenario, or on a comparison of several."""

    requirement: str
    scenario: str
    """Name of the scenario, or of the comparison."""
    profile: str
    outcome: Outcome
    mode: VerdictMode = VerdictMode.GATE
    findings: tuple[str, ...] = ()
    """One sentence each: what was seen, what was due. For SKIPPED and INCONCLUSIVE: what is missing."""
    grounds: tuple[Ground, ...] = ()
    """One for each finding; none in a verdict of an earlier release, or without a recording."""
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


def judged_requirements(verdicts: Iterable[Verdict]) -> frozenset[str]:
    """The requirements whose worst outcome over all scenarios is a PASS or a FAIL."""
    outcomes: dict[str, list[Outcome]] = {}
    for each in verdicts:
        outcomes.setdefault(each.requirement, []).append(each.outcome)
    return frozenset(name for name, found in outcomes.items() if worst(found) in (Outcome.PASS, Outcome.FAIL))


def run_outcome(verdicts: Iterable[Verdict], *, at_least: int = 0) -> Outcome:
    """The outcome of a run: the worst of the verdicts that count.

    Where those object to nothing: INCONCLUSIVE if fewer than `at_least` requirements were judged, or none was; SKIPPED if
    every verdict is SKIPPED, or there is none.
    """
    seen = list(verdicts)
    outcome = worst(each.outcome for each in seen if each.counts)
    if outcome not in (Outcome.PASS, Outcome.SKIPPED):
        return outcome
    judged = len(judged_requirements(seen))
    if judged < at_least:
        return Outcome.INCONCLUSIVE
    if judged:
        return Outcome.PASS
    return Outcome.SKIPPED if all(each.outcome is Outcome.SKIPPED for each in seen) else Outcome.INCONCLUSIVE


_CODES = {
    Outcome.FAIL: ExitCode.FAIL,
    Outcome.ERROR: ExitCode.ERROR,
    Outcome.INCONCLUSIVE: ExitCode.INCONCLUSIVE,
    Outcome.SKIPPED: ExitCode.INCONCLUSIVE,
    Outcome.PASS: ExitCode.OK,
}


def exit_code(outcome: Outcome) -> int:
    """The exit code of a run with that outcome; a run that judged nothing proves nothing, as one without evidence."""
    return _CODES[outcome]
