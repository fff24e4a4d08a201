"""Compares two stress runs: promise by promise, and the figures of every stage."""

from collections.abc import Iterator

import msgspec

from crashloop.comparison.change import Change, ScenarioOutcome, change, exit_code, gravest
from crashloop.comparison.circumstances import Circumstance
from crashloop.comparison.stress.circumstances import stress_circumstances
from crashloop.comparison.stress.figures import StageChange, stage_change
from crashloop.comparison.stress.side import JudgedStressRun, StressSide, judged_slo, stress_side, verdicts_of
from crashloop.comparison.stress.stages import StagePair, stage_pairs, threshold_of
from crashloop.comparison.stress.values import Measure, Value, ValueChange, value_change
from crashloop.report.standing import Standing
from crashloop.slo.types import SloVerdict

STRESS_COMPARISON_FORMAT = "crashloop.stress-comparison/1"

NOT_ASKED_FOR = "the load profile differs and does not include it."


class SloChange(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict in both runs; None where a run did not judge it."""

    slo: str
    promise: str
    """Empty for a verdict about the run itself."""
    mode: str
    """gate if it gates in either run."""
    change: Change
    """The graver of the changes of outcome and value."""
    outcome: Change
    before: ScenarioOutcome | None
    after: ScenarioOutcome | None
    value: ValueChange | None = None
    """None for a verdict about the run itself, and for a verdict of one run only."""

    @property
    def gates(self) -> bool:
        return self.mode == "gate"


class StressComparison(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `crashloop diff --json` for stress runs."""

    format: str = STRESS_COMPARISON_FORMAT
    before: StressSide
    after: StressSide
    exit_code: int
    counts: dict[Change, int]
    """Number of verdicts by change, with every kind of change."""
    circumstances: tuple[Circumstance, ...] = ()
    verdicts: tuple[SloChange, ...] = ()
    """All of them, gravest change first."""
    stages: tuple[StageChange, ...] = ()
    values_count: bool = False
    """Whether worse values without a gate make the exit code 1."""

    @property
    def differences(self) -> int:
        """Verdicts and figures of stages that changed, without allowed differences."""
        verdicts = sum(number for each, number in self.counts.items() if each not in (Change.SAME, Change.ALLOWED))
        return verdicts + sum(each.is_change for each in self.figures)

    @property
    def figures(self) -> tuple[ValueChange, ...]:
        """The figures of all stages."""
        return tuple(figure for stage in self.stages for figure in stage.figures)

    @property
    def changed(self) -> tuple[SloChange, ...]:
        """Verdicts with a difference."""
        return tuple(each for each in self.verdicts if each.change not in (Change.SAME, Change.ALLOWED))

    @property
    def allowed(self) -> tuple[SloChange, ...]:
        """Verdicts of one run only, for a stated reason."""
        return tuple(each for each in self.verdicts if each.change is Change.ALLOWED)

    @property
    def decisive(self) -> Change:
        """The gravest change that counts for the exit code."""
        return gravest(_counting(self.verdicts, self.stages, values_count=self.values_count))


def compare_stress(before: JudgedStressRun, after: JudgedStressRun, *, values_count: bool = False) -> StressComparison:
    """Compare two judged stress runs.

    A gating row counts for the exit code: its outcome, and its value if that got worse by more than noise. `values_count`:
    values of reported rows and figures of stages count as well.
    """
    pairs = stage_pairs(before, after)
    verdicts = tuple(sorted(_verdicts(before, after, pairs), key=lambda each: (each.change.rank, not each.gates)))
    stages = tuple(stage_change(pair, threshold=threshold_of([pair], before, after)) for pair in pairs)
    changes = [each.change for each in verdicts]
    return StressComparison(
        before=stress_side(before),
        after=stress_side(after),
        exit_code=exit_code(_counting(verdicts, stages, values_count=values_count)),
        counts={each: changes.count(each) for each in Change},
        circumstances=stress_circumstances(before, after, pairs),
        verdicts=verdicts,
        stages=stages,
        values_count=values_count,
    )


def _counting(
    verdicts: tuple[SloChange, ...], stages: tuple[StageChange, ...], *, values_count: bool
) -> Iterator[Change]:
    """The changes that decide the exit code."""
    reported = [each.value for each in verdicts if not each.gates and each.value is not None]
    yield from (each.change for each in verdicts if each.gates)
    for value in (*reported, *(figure for stage in stages for figure in stage.figures)) if values_count else ():
        if value.change is not None:
            yield value.change


def _verdicts(before: JudgedStressRun, after: JudgedStressRun, pairs: tuple[StagePair, ...]) -> Iterator[SloChange]:
    old, new = verdicts_of(before), verdicts_of(after)
    asks_for_other_rows = before.profile.slos != after.profile.slos or before.profile.loads != after.profile.loads
    for slo in dict.fromkeys((*old, *new)):
        was, now = (None if each is None else judged_slo(each) for each in (old.get(slo), new.get(slo)))
        if now is None and asks_for_other_rows:
            now = ScenarioOutcome(standing=Standing.SKIPPED, findings=(NOT_ASKED_FOR,))
        outcome = change(was, now)
        value = _value_change(slo, (before, after), (old.get(slo), new.get(slo)), pairs)
        text = after.results.row(slo) or before.results.row(slo)
        yield SloChange(
            slo=slo,
            promise=text.promise if text else "",
            mode="gate" if "gate" in {each.mode for each in (old.get(slo), new.get(slo)) if each} else "report",
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
    is_told = was.better is not None and now.better is not None
    if is_told and (old.unit, old.percentile, was.phase) != (new.unit, new.percentile, now.phase):
        hindered = ["the row is not the same in both runs."]
    return value_change(
        Measure(name=slo, unit=new.unit, better=now.better and was.better, percentile=new.percentile),
        _measured(old),
        _measured(new),
        threshold=threshold_of(looked_at, *runs),
        obstacle="".join(hindered[:1]) if is_told else "",
    )


def _measured(verdict: SloVerdict) -> Value:
    return Value(value=verdict.value, interval=verdict.interval, samples=verdict.samples)
