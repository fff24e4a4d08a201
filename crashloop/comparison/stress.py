"""Compares two stress runs: circumstances, promise by promise, and the figures of every stage; in words."""

from collections.abc import Iterable, Iterator

import msgspec

from crashloop.comparison.comparison import (
    ABSENT,
    Circumstance,
    Comparison,
    Pair,
    VerdictChange,
    assembled,
    differing,
    of_host,
    of_versions,
    profile_in_words,
)
from crashloop.comparison.side import Change, ScenarioOutcome, change, gravest
from crashloop.comparison.text import name_of
from crashloop.comparison.values import (
    NOISE_RATIO,
    JudgedStressRun,
    Measure,
    StagePair,
    Value,
    ValueChange,
    judged_slo,
    kubelet_profiles,
    stage_change,
    stage_pairs,
    stages_in_words,
    stress_side,
    threshold_of,
    value_change,
    verdicts_of,
)
from crashloop.report.results import RequirementText
from crashloop.report.standing import Standing
from crashloop.report.stress.load import FIGURES
from crashloop.report.stress.results import StageResult
from crashloop.report.text import counted
from crashloop.slo.measurements import SloVerdict
from crashloop.slo.text import amount, number
from crashloop.stress.loads import AnyLoad
from crashloop.stress.profile import StressProfile
from crashloop.verdict import VerdictMode

NOTABLE_SHARE = 0.05
"""Smaller differences of shares of the host's CPU are not reported."""


def stress_circumstances(
    before: JudgedStressRun, after: JudgedStressRun, stages: tuple[StagePair, ...]
) -> tuple[Circumstance, ...]:
    """Possible explanations of a change, the likeliest first."""
    old, new = before.results, after.results
    return differing(
        (
            *of_versions(old, new, (before.key, after.key)),
            ("load", old.profile, new.profile),
            ("stages", stages_in_words(before.profile), stages_in_words(after.profile)),
            *_loads(before.profile, after.profile),
            *_each("kubelet profile of", _kubelets(before), _kubelets(after)),
            *_promises(before, after),
            *of_host(old, new),
            *_taken_by_others(stages),
        )
    )


def _loads(before: StressProfile, after: StressProfile) -> Iterator[Pair]:
    """The differing fields of a load; the kind of a load of one run only."""
    for name in dict.fromkeys((*before.loads, *after.loads)):
        old, new = (_fields(profile.loads.get(name)) for profile in (before, after))
        changed = [field for field in dict.fromkeys((*old, *new)) if old.get(field) != new.get(field)]
        shown = changed if old and new else ["kind"]
        yield f"load {name}", _worded(old, shown), _worded(new, shown)


def _fields(load: AnyLoad | None) -> dict[str, str]:
    return {} if load is None else {name: str(value) for name, value in msgspec.to_builtins(load).items()}


def _worded(fields: dict[str, str], shown: list[str]) -> str:
    return ", ".join(f"{name} {fields.get(name, ABSENT)}" for name in shown) if fields else ABSENT


def _each(what: str, before: dict[str, str], after: dict[str, str]) -> Iterator[Pair]:
    """Entries of both runs are compared; an entry of one run is absent in the other."""
    for name in dict.fromkeys((*before, *after)):
        yield f"{what} {name}", before.get(name, ABSENT), after.get(name, ABSENT)


def _kubelets(run: JudgedStressRun) -> dict[str, str]:
    return {node: f"{profile.name}: {profile_in_words(profile)}" for node, profile in kubelet_profiles(run).items()}


def _promises(before: JudgedStressRun, after: JudgedStressRun) -> Iterator[Pair]:
    """Promises of both runs; a promise of one run only is listed among the verdicts."""
    old, new = verdicts_of(before), verdicts_of(after)
    for row in before.results.rows:
        other = after.results.row(row.id)
        if other is not None and row.id in old and row.id in new:
            modes = old[row.id].mode, new[row.id].mode
            yield f"promise {row.id}", f"{row.promise} ({modes[0]})", f"{other.promise} ({modes[1]})"


def _taken_by_others(stages: tuple[StagePair, ...]) -> Iterator[Pair]:
    for each in stages:
        old, new = _share(each.before), _share(each.after)
        if each.before is None or each.after is None or (old is None and new is None):
            continue
        if old is None or new is None or abs(old - new) >= NOTABLE_SHARE:
            yield f"host CPU taken by others in {each.key}", _percent(old), _percent(new)


def _share(stage: StageResult | None) -> float | None:
    return None if stage is None else stage.figures.get("foreign_cpu_share")


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.0f} %"


NOT_ASKED_FOR = "the load profile differs and does not include it."


def compare_stress(before: JudgedStressRun, after: JudgedStressRun, *, values_count: bool = False) -> Comparison:
    """Compare two judged stress runs.

    A gating row counts for the exit code: its outcome, and its value if that got worse by more than noise. `values_count`:
    values of reported rows and figures of stages count as well.
    """
    pairs = stage_pairs(before, after)
    return assembled(
        stress_side(before),
        stress_side(after),
        _verdicts(before, after, pairs),
        circumstances=stress_circumstances(before, after, pairs),
        stages=tuple(stage_change(pair, threshold=threshold_of([pair], before, after)) for pair in pairs),
        values_count=values_count,
    )


def _verdicts(before: JudgedStressRun, after: JudgedStressRun, pairs: tuple[StagePair, ...]) -> Iterator[VerdictChange]:
    old, new = verdicts_of(before), verdicts_of(after)
    asks_for_other_rows = before.profile.slos != after.profile.slos or before.profile.loads != after.profile.loads
    for slo in dict.fromkeys((*old, *new)):
        was, now = (None if each is None else judged_slo(each) for each in (old.get(slo), new.get(slo)))
        if now is None and asks_for_other_rows:
            now = ScenarioOutcome(standing=Standing.SKIPPED, findings=(NOT_ASKED_FOR,))
        outcome = change(was, now)
        value = _value_change(slo, (before, after), (old.get(slo), new.get(slo)), pairs)
        text = after.results.row(slo) or before.results.row(slo)
        modes = {each.mode for each in (old.get(slo), new.get(slo)) if each}
        yield VerdictChange(
            requirement=RequirementText(id=slo, sentence=text.promise if text else ""),
            mode=VerdictMode.GATE if "gate" in modes else VerdictMode.REPORT,
            change=outcome if value is None or value.change is None else gravest((outcome, value.change)),
            outcome=outcome,
            before=was,
            after=now,
            value=value,
        )


def _value_change(
    slo: str,
    runs: tuple[JudgedStressRun, JudgedStressRun],
    verdicts: tuple[SloVerdict | None, SloVerdict | None],
    pairs: tuple[StagePair, ...],
) -> ValueChange | None:
    (old, new), (was, now) = verdicts, (run.results.row(slo) for run in runs)
    if old is None or new is None or was is None or now is None:
        return None
    looked_at = [each for each in pairs if now.phase in (None, each.key.name)]
    hindered = [f"stage {each.key}: {each.obstacle}" for each in looked_at if each.obstacle]
    if (old.unit, old.percentile, was.phase) != (new.unit, new.percentile, now.phase):
        hindered = ["the row is not the same in both runs."]
    return value_change(
        Measure(name=slo, unit=new.unit, better=now.better, percentile=new.percentile),
        _measured(old),
        _measured(new),
        threshold=threshold_of(looked_at, *runs),
        obstacle="".join(hindered[:1]),
    )


def _measured(verdict: SloVerdict) -> Value:
    return Value(value=verdict.value, interval=verdict.interval, samples=verdict.samples)


MAX_NAMES = 6
"""Values that are named per reason why they cannot be compared; the rest is counted."""

VALUES_HEADER = ("value", "of", "before", "after", "ratio")


def promised_values(comparison: Comparison) -> list[tuple[str, ValueChange]]:
    """The values of promises that were compared and their names, changed ones first."""
    found = [
        (name_of(each), each.value) for each in comparison.verdicts if each.value is not None and each.value.change
    ]
    return sorted(found, key=lambda each: not each[1].is_change)


def stage_values(comparison: Comparison) -> list[tuple[str, ValueChange]]:
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
    return FIGURES[figure.measure.name].words


def value_cells(name: str, change: ValueChange) -> tuple[str, ...]:
    """One value under VALUES_HEADER."""
    became = change.change.value if change.is_change and change.change else "unchanged"
    unit = change.measure.unit
    return became, name, value_text(change.before, unit), value_text(change.after, unit), ratio_text(change)


def value_text(value: Value, unit: str) -> str:
    """`1.39 s (1.27 to 1.61) of 441`."""
    if value.value is None:
        return "none"
    text = amount(value.value, unit)
    if value.interval is not None and (bounds := value.interval.bounds) is not None:
        text += f" ({' to '.join(map(number, bounds))})"
    return text if value.samples is None else f"{text} of {value.samples:,}"


def ratio_text(change: ValueChange) -> str:
    """`1.07 (threshold 1.5)`."""
    ratio = "–" if change.ratio is None else number(change.ratio)
    return f"{ratio} (threshold {number(change.threshold or NOISE_RATIO)})"


def values_summary(comparison: Comparison) -> str:
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


def not_compared(comparison: Comparison) -> dict[str, tuple[str, ...]]:
    """The reasons for values without comparison, and their names; an incomparable stage is named for all of its figures."""
    by_reason: dict[str, list[str]] = {}
    for each in comparison.verdicts:
        if each.value is not None and each.value.not_compared:
            by_reason.setdefault(each.value.not_compared, []).append(each.requirement.id)
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
