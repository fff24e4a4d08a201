"""Sentences of a comparison, the same in every view."""

from collections.abc import Mapping
from typing import NamedTuple

from crashloop.comparison.change import Change, ScenarioOutcome
from crashloop.comparison.comparison import Comparison, ScenarioChange
from crashloop.comparison.lateness import CONFIDENCE, MIN_DELAYS, Distribution, LatenessChange
from crashloop.comparison.matrix import Cell, Flake, Matrix
from crashloop.report.standing import Standing
from crashloop.report.text import counted, seconds

TONES = {
    Change.WORSE: Standing.FAIL,
    Change.UNDECIDED: Standing.INCONCLUSIVE,
    Change.BETTER: Standing.PASS,
    Change.ALLOWED: Standing.SKIPPED,
    Change.SAME: Standing.PASS,
}
"""The outcome that gives a change its colour."""

SYMBOLS = {Change.WORSE: "✗", Change.UNDECIDED: "?", Change.BETTER: "✓", Change.ALLOWED: "–", Change.SAME: "="}
"""One character, so that changes differ not only by colour."""

ARROW = "→"


class ComparisonHeadline(NamedTuple):
    """The headline of a comparison."""

    change: Change
    sentence: str
    meaning: str
    to_do: str


def headline(comparison: Comparison) -> ComparisonHeadline:
    """The headline. Its change is the gravest that counts for the exit code."""
    longer = [each for each in comparison.lateness if each.is_longer] if comparison.delays_count else []
    counts = comparison.counts
    named = [f"{counts[each]} {each.value}" for each in (Change.WORSE, Change.UNDECIDED, Change.BETTER) if counts[each]]
    sentence = counted(comparison.differences, "difference") + (f": {', '.join(named)}" if named else "")
    if longer:
        sentence += f"; restarts come later in {counted(len(longer), 'distribution')}"
    worse = Change.WORSE if counts[Change.WORSE] or longer else None
    undecided = Change.UNDECIDED if counts[Change.UNDECIDED] else None
    better = Change.BETTER if counts[Change.BETTER] else None
    change = worse or undecided or better or Change.SAME
    return ComparisonHeadline(change, f"{sentence}.", *_MEANINGS[change])


_MEANINGS = {
    Change.WORSE: (
        "The second run has a fault that the first run did not show.",
        "Read the findings. Other differences between the runs are listed, and may be the reason.",
    ),
    Change.UNDECIDED: (
        "Nothing got worse as far as is known, but for some requirements one of the runs lacks evidence.",
        "The findings name the missing evidence. Repeat that run on a quieter host or with the same scope.",
    ),
    Change.BETTER: (
        "Nothing got worse, and at least one fault is gone.",
        "Nothing. The second run can be the reference from now on.",
    ),
    Change.SAME: (
        "Every requirement that both runs judged has the same outcome.",
        "Nothing.",
    ),
}


def agreement(counts: Mapping[Change, int]) -> str:
    """Unchanged verdicts, and allowed differences."""
    same = counted(counts[Change.SAME], "verdict is the same", "verdicts are the same")
    if not counts[Change.ALLOWED]:
        return f"{same}."
    allowed = counted(
        counts[Change.ALLOWED],
        "is in one run only for a stated reason, or is only reported, and counts as no difference",
        "are in one run only for a stated reason, or are only reported, and count as no difference",
    )
    return f"{same}; {allowed}."


def allowed_by_reason(comparison: Comparison) -> dict[str, tuple[str, ...]]:
    """The reason why only one run judged some requirements, and their ids; one missing capability can concern many."""
    by_reason: dict[str, dict[str, None]] = {}
    for requirement in comparison.allowed:
        for scenario in requirement.scenarios:
            by_reason.setdefault(_reason(scenario), {})[requirement.requirement.id] = None
    return {reason: tuple(names) for reason, names in by_reason.items()}


def _reason(scenario: ScenarioChange) -> str:
    for run, judged in (("first", scenario.before), ("second", scenario.after)):
        if judged is not None and judged.standing is Standing.SKIPPED:
            return f"SKIPPED in the {run} run: {' '.join(judged.findings)}"
    if Standing.REPORTED in {each.standing for each in (scenario.before, scenario.after) if each is not None}:
        return "Only reported."
    return "Not in the first run."


def outcome(judged: ScenarioOutcome | Standing | None) -> str:
    """`PASS`, or the mark of a run that did not judge."""
    standing = judged.standing if isinstance(judged, ScenarioOutcome) else judged
    return "not judged" if standing is None else standing.label


def lateness_summary(comparison: Comparison) -> str:
    """The number of compared distributions, and the criterion of a change."""
    compared = comparison.compared_lateness
    longer = sum(each.is_longer for each in compared)
    shorter = sum(each.is_change for each in compared) - longer
    few = len(comparison.lateness) - len(compared)
    left_out = f" {few} with fewer than {MIN_DELAYS} delays in one of the runs were not compared." if few else ""
    if not compared:
        return f"No distribution of delays has enough in both runs to be compared.{left_out}"
    said = f"{longer} longer, {shorter} shorter" if longer or shorter else "none changed"
    return (
        f"{counted(len(compared), 'distribution')} of delays compared: {said}. "
        f"One has changed if the {CONFIDENCE:.0%} interval of the difference of medians excludes 0 "
        f"and the difference exceeds its threshold.{left_out}"
    )


LATENESS_HEADER = ("lateness", "of", "due (s)", "before", "after", "difference")


def lateness_cells(lateness: LatenessChange) -> tuple[str, ...]:
    """One distribution under LATENESS_HEADER."""
    became = ("longer" if lateness.is_longer else "shorter") if lateness.is_change else "unchanged"
    due = seconds(lateness.due_s)
    return became, lateness.curve, due, spread(lateness.before), spread(lateness.after), difference(lateness)


def spread(distribution: Distribution) -> str:
    """`9 delays: p50 0.84, p90 1.84, max 1.94 s`."""
    if not distribution.n:
        return "none"
    p50, p90, high = (seconds(each) for each in (distribution.p50_s, distribution.p90_s, distribution.max_s))
    return f"{counted(distribution.n, 'delay')}: p50 {p50}, p90 {p90}, max {high} s"


def difference(lateness: LatenessChange) -> str:
    """`+0.41 s (0.12 to 0.71; threshold 0.25)`, or a note on too few delays."""
    if lateness.difference_s is None:
        return f"not compared: fewer than {MIN_DELAYS}"
    ends = f"{_signed(lateness.low_s)} to {_signed(lateness.high_s)}"
    return f"{_signed(lateness.difference_s)} s ({ends}; threshold {seconds(lateness.threshold_s)})"


def _signed(value: float | None) -> str:
    return f"+{seconds(value)}" if value is not None and value > 0 else seconds(value)


def cell_text(cell: Cell) -> str:
    """`PASS`, `FAIL 1 of 3`: the worst, and in how many of the runs it is the outcome."""
    if cell.standing is None:
        return "not judged"
    return cell.standing.label if cell.runs == 1 else f"{cell.standing.label} {cell.worst} of {cell.runs}"


def flake_text(flake: Flake) -> str:
    """`CAP-4 in crashing-max-1s: 2 PASS, 1 FAIL (local, Kubernetes 1.37.1)`."""
    outcomes = ", ".join(f"{number} {standing.label}" for standing, number in flake.outcomes.items())
    return f"{flake.requirement} in {flake.scenario}: {outcomes} ({flake.key})"


def flakes_summary(matrix: Matrix) -> str:
    """Whether outcomes varied between equal runs."""
    if all(len(column.runs) == 1 for column in matrix.columns):
        return "Flakes: unknown, since no two runs have the same provider, Kubernetes version and kubelet."
    if not matrix.flakes:
        return "Flakes: none. Runs with the same provider, Kubernetes version and kubelet have the same outcomes."
    varied = counted(len(matrix.flakes), "outcome")
    return f"Flakes: {varied} varied between equal runs; each is a defect of the suite or of Kubernetes."
