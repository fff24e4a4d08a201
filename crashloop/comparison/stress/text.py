"""Sentences of a comparison of stress runs, the same in every view."""

from collections.abc import Iterable

from crashloop.comparison.change import Change
from crashloop.comparison.stress.comparison import SloChange, StressComparison
from crashloop.comparison.stress.values import NOISE_RATIO, Value, ValueChange
from crashloop.comparison.text import ComparisonHeadline
from crashloop.report.stress.figures import FIGURES
from crashloop.report.text import counted
from crashloop.slo.text import number

MAX_NAMES = 6
"""Values that are named per reason why they cannot be compared; the rest is counted."""

NAMED = (Change.WORSE, Change.UNDECIDED, Change.BETTER)


def stress_headline(comparison: StressComparison) -> ComparisonHeadline:
    """The headline. Its change is the gravest that counts for the exit code."""
    counts = comparison.counts
    figures = sum(each.is_change for each in comparison.figures)
    parts = []
    if comparison.changed:
        parts.append(_tally(f"{counted(len(comparison.changed), 'verdict')} of {sum(counts.values())}", counts))
    if figures:
        parts.append(_tally(f"{counted(figures, 'figure')} of stages", _figures(comparison)))
    decisive = comparison.decisive
    change = Change.SAME if decisive is Change.ALLOWED else decisive
    sentence = ": ".join(filter(None, (counted(comparison.differences, "difference"), "; ".join(parts))))
    meaning, to_do = _MEANINGS[change]
    return ComparisonHeadline(change, f"{sentence}.", f"{meaning} {_uncounted(comparison)}".strip(), to_do)


_MEANINGS = {
    Change.WORSE: (
        "The second run breaks a promise that the first run kept, or a value got worse by more than noise.",
        "Read the sentences of both runs. Other differences between them are listed, and may be the reason. "
        "To be sure, repeat both runs, one after the other on a quiet host.",
    ),
    Change.UNDECIDED: (
        "No gating promise got worse as far as is known, but for some promises one of the runs lacks evidence.",
        "The sentences name the missing evidence. Repeat that run on a quieter host or with the same load.",
    ),
    Change.BETTER: (
        "No gating promise got worse, and at least one improved.",
        "Nothing. The second run can be the reference from now on.",
    ),
    Change.SAME: (
        "Every gating promise has the same outcome, and none of its comparable values changed by more than noise.",
        "Nothing.",
    ),
}


def _uncounted(comparison: StressComparison) -> str:
    """Worse outcomes and values without a gate."""
    outcomes = sum(each.outcome is Change.WORSE for each in comparison.verdicts if not each.gates)
    values = 0
    if not comparison.values_count:
        reported = [each.value for each in comparison.verdicts if not each.gates and each.value is not None]
        values = sum(each.change is Change.WORSE for each in (*reported, *comparison.figures))
    said = []
    if outcomes:
        said.append(f"{counted(outcomes, 'outcome')} got worse where a target is only reported.")
    if values:
        said.append(f"{counted(values, 'value')} without a gate got worse; with --values-count they count.")
    return " ".join(said)


def _figures(comparison: StressComparison) -> dict[Change, int]:
    return {each: sum(figure.change is each for figure in comparison.figures) for each in NAMED}


def _tally(what: str, counts: dict[Change, int]) -> str:
    named = [f"{counts[each]} {each.value}" for each in NAMED if counts[each]]
    return f"{what} ({', '.join(named)})" if named else what


def allowed_by_reason(comparison: StressComparison) -> dict[str, tuple[str, ...]]:
    """The reason why only one run judged it, and the verdict."""
    by_reason: dict[str, list[str]] = {}
    for each in comparison.allowed:
        reason = "Not in the first run." if each.before is None else f"Not in the second run: {_said(each)}"
        by_reason.setdefault(reason, []).append(each.slo)
    return {reason: tuple(names) for reason, names in by_reason.items()}


def _said(each: SloChange) -> str:
    return " ".join(each.after.findings) if each.after else ""


def name_of(change: SloChange) -> str:
    """`restart-lateness (report)`; a gate is not marked."""
    return change.slo if change.gates else f"{change.slo} ({change.mode})"


VALUES_HEADER = ("value", "of", "before", "after", "ratio")


def promised_values(comparison: StressComparison) -> list[tuple[str, ValueChange]]:
    """The values of promises that were compared and their names, changed ones first."""
    found = [
        (name_of(each), each.value) for each in comparison.verdicts if each.value is not None and each.value.change
    ]
    return sorted(found, key=lambda each: not each[1].is_change)


def stage_values(comparison: StressComparison) -> list[tuple[str, ValueChange]]:
    """The figures of stages that were compared and their names, changed ones first."""
    found = [
        (f"{stage.stage}: {figure_name(figure)}", figure)
        for stage in comparison.stages
        for figure in stage.figures
        if figure.change is not None
    ]
    return sorted(found, key=lambda each: not each[1].is_change)


def figure_name(figure: ValueChange) -> str:
    """The figure's name in reports."""
    return FIGURES[figure.measure.name]


def value_cells(name: str, change: ValueChange) -> tuple[str, ...]:
    """One value under VALUES_HEADER."""
    became = change.change.value if change.is_change and change.change else "unchanged"
    unit = change.measure.unit
    return became, name, value_text(change.before, unit), value_text(change.after, unit), ratio_text(change)


def value_text(value: Value, unit: str) -> str:
    """`1.39 s (1.27 to 1.61) of 441`."""
    if value.value is None:
        return "none"
    text = f"{number(value.value)} {unit}"
    if value.interval is not None and value.interval.lower is not None and value.interval.upper is not None:
        text += f" ({number(value.interval.lower)} to {number(value.interval.upper)})"
    return text if value.samples is None else f"{text} of {value.samples:,}"


def ratio_text(change: ValueChange) -> str:
    """`1.07 (threshold 1.5)`."""
    ratio = "–" if change.ratio is None else number(change.ratio)
    return f"{ratio} (threshold {number(change.threshold or NOISE_RATIO)})"


def values_summary(comparison: StressComparison) -> str:
    """The number of compared values, and the criterion of a change."""
    values = [change for _, change in (*promised_values(comparison), *stage_values(comparison))]
    if not values:
        return "No value of the two runs could be compared."
    worse = sum(each.change is Change.WORSE for each in values)
    better = sum(each.change is Change.BETTER for each in values)
    said = f"{worse} worse, {better} better" if worse or better else "none changed"
    return (
        f"{counted(len(values), 'value')} compared: {said}. One has changed if its two 95 % intervals do not overlap and "
        f"the larger is more than {NOISE_RATIO:g} times the smaller; the threshold is wider if the host was at its limit, "
        "if the load was not exactly the same, or if other processes used more of the host."
    )


def not_compared(comparison: StressComparison) -> dict[str, tuple[str, ...]]:
    """The reasons for values without comparison, and their names; an incomparable stage is named for all of its figures."""
    by_reason: dict[str, list[str]] = {}
    for each in comparison.verdicts:
        if each.value is not None and each.value.not_compared:
            by_reason.setdefault(each.value.not_compared, []).append(each.slo)
    for stage in comparison.stages:
        if stage.not_compared:
            by_reason.setdefault(stage.not_compared, []).append(f"stage {stage.stage}")
            continue
        for figure in stage.figures:
            if figure.not_compared:
                by_reason.setdefault(figure.not_compared, []).append(f"{stage.stage}: {figure_name(figure)}")
    return {reason: tuple(names) for reason, names in by_reason.items()}


def names_text(names: Iterable[str]) -> str:
    """The first of them, and how many more there are."""
    every = tuple(names)
    more = f" and {len(every) - MAX_NAMES} more" if len(every) > MAX_NAMES else ""
    return f"{'; '.join(every[:MAX_NAMES])}{more}"
