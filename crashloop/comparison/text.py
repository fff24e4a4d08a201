"""Sentences of a comparison, the same in every view."""

from collections.abc import Mapping

from crashloop.comparison.comparison import Comparison, VerdictChange, decisive
from crashloop.comparison.lateness import CONFIDENCE, MIN_DELAYS, Distribution, LatenessChange
from crashloop.comparison.matrix import Cell, Flake, Matrix
from crashloop.comparison.side import Change, ScenarioOutcome
from crashloop.report.document import Headline
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


def headline(comparison: Comparison) -> Headline:
    """The headline. Its change is the gravest that counts for the exit code."""
    change, counts = decisive(comparison), comparison.counts
    parts = []
    if comparison.changed:
        parts.append(_tally(f"{counted(len(comparison.changed), 'verdict')} of {sum(counts.values())}", counts))
    if figures := sum(each.is_change for each in comparison.figures):
        parts.append(_tally(f"{counted(figures, 'figure')} of stages", _figures(comparison)))
    longer = sum(each.is_longer for each in comparison.lateness) if comparison.values_count else 0
    later = f"; restarts come later in {counted(longer, 'distribution')}" if longer else ""
    sentence = ": ".join(filter(None, (counted(comparison.differences, "difference"), "; ".join(parts))))
    meaning, to_do = _MEANINGS[change]
    worse = [each for each in comparison.verdicts if each.gates and each.change is Change.WORSE]
    is_an_error = [each.outcome is Change.WORSE and each.after is not None and each.after.standing for each in worse]
    if change is Change.WORSE and not (longer or figures) and {*is_an_error} == {Standing.ERROR}:
        meaning, to_do = _ONLY_ERRORS
    return Headline(
        TONES[change],
        f"{sentence}{later}.",
        f"{agreement(counts)} {meaning} {_uncounted(comparison)}".strip(),
        to_do,
        label="",
        symbol=SYMBOLS[change],
    )


_MEANINGS = {
    Change.WORSE: (
        "The second run breaks a promise that the first run kept, or a value got worse by more than noise.",
        "Read the findings of both runs. Other differences between them are listed, and may be the reason. "
        "To be sure, repeat both runs, one after the other on a quiet host.",
    ),
    Change.UNDECIDED: (
        "Nothing that counts got worse as far as is known, but for some verdicts one of the runs lacks evidence.",
        "The findings name the missing evidence. Repeat that run on a quieter host, or with the same scope or load.",
    ),
    Change.BETTER: (
        "Nothing that counts got worse, and something improved.",
        "Nothing. The second run can be the reference from now on.",
    ),
    Change.SAME: ("Everything that counts and that both runs judged has the same outcome.", "Nothing."),
}

_ONLY_ERRORS = (
    "The second run ends in ERROR where the first one has a verdict: a fault of this suite or of its host, and of no kubelet.",
    "Read its errors, and repeat it.",
)

NAMED = (Change.WORSE, Change.UNDECIDED, Change.BETTER)


def _uncounted(comparison: Comparison) -> str:
    """Worse outcomes and values without a gate."""
    outcomes = sum(each.outcome is Change.WORSE for each in comparison.verdicts if not each.gates)
    values = 0 if comparison.values_count else sum(each.change is Change.WORSE for each in comparison.ungated_values)
    said = []
    if outcomes:
        said.append(f"{counted(outcomes, 'outcome')} got worse where a target is only reported.")
    if values:
        said.append(f"{counted(values, 'value')} without a gate got worse; with --values-count they count.")
    return " ".join(said)


def _figures(comparison: Comparison) -> dict[Change, int]:
    return {each: sum(figure.change is each for figure in comparison.figures) for each in NAMED}


def _tally(what: str, counts: Mapping[Change, int]) -> str:
    named = [f"{counts[each]} {each.value}" for each in NAMED if counts[each]]
    return f"{what} ({', '.join(named)})" if named else what


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
    """The reason why only one run judged something, and its names; one missing capability can concern many."""
    by_reason: dict[str, dict[str, None]] = {}
    for each in comparison.allowed:
        by_reason.setdefault(_reason(each), {})[each.requirement.id] = None
    return {reason: tuple(names) for reason, names in by_reason.items()}


def _reason(each: VerdictChange) -> str:
    for run, judged in (("first", each.before), ("second", each.after)):
        if judged is not None and judged.standing is Standing.SKIPPED:
            return f"SKIPPED in the {run} run: {' '.join(judged.findings)}"
    if Standing.REPORTED in {judged.standing for judged in (each.before, each.after) if judged is not None}:
        return "Only reported."
    return "Not in the first run."


def name_of(each: VerdictChange) -> str:
    """`restart-lateness (report)`; a gate is not marked."""
    return each.requirement.id if each.gates else f"{each.requirement.id} ({each.mode.value})"


def outcome(judged: ScenarioOutcome | None) -> str:
    """`PASS`, or the mark of a run that did not judge."""
    return "not judged" if judged is None else judged.standing.label


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
