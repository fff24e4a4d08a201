"""Compares two stress runs: promise by promise, and the figures of every stage."""

from collections.abc import Iterator

from crashloop.comparison.change import ScenarioOutcome, change, gravest
from crashloop.comparison.comparison import Comparison, VerdictChange, assembled
from crashloop.comparison.stress.circumstances import stress_circumstances
from crashloop.comparison.stress.figures import stage_change
from crashloop.comparison.stress.side import JudgedStressRun, judged_slo, stress_side, verdicts_of
from crashloop.comparison.stress.stages import StagePair, stage_pairs, threshold_of
from crashloop.comparison.stress.values import Measure, Value, ValueChange, value_change
from crashloop.report.results import RequirementText
from crashloop.report.standing import Standing
from crashloop.slo.measurements import SloVerdict
from crashloop.verdict import VerdictMode

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
    is_known = was.better is not None and now.better is not None
    if is_known and (old.unit, old.percentile, was.phase) != (new.unit, new.percentile, now.phase):
        hindered = ["the row is not the same in both runs."]
    return value_change(
        Measure(name=slo, unit=new.unit, better=now.better and was.better, percentile=new.percentile),
        _measured(old),
        _measured(new),
        threshold=threshold_of(looked_at, *runs),
        obstacle="".join(hindered[:1]) if is_known else "",
    )


def _measured(verdict: SloVerdict) -> Value:
    return Value(value=verdict.value, interval=verdict.interval, samples=verdict.samples)
