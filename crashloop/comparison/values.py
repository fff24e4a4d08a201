"""Two judged stress runs: pairs of their stages, and whether a value of a promise or stage changed by more than noise.

A value has changed if its two 95 % intervals do not overlap *and* the larger is more than a threshold times the smaller.
The interval covers the variation within one run. But hosts drift, and repeated runs differ by more than their intervals, so
the intervals alone would report a change between equal runs.

A stage is matched by its name, its mix, its arm, and its number among the stages with the same. Values are compared only
under the same load: the same loads, with the same number of users.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from crashloop.comparison.side import Change, RunKey, ScenarioOutcome, Side, run_key
from crashloop.report.results import ProfileSummary
from crashloop.report.standing import Standing
from crashloop.report.stress.load import FIGURES
from crashloop.report.stress.results import SUITE, StageResult, StressResults
from crashloop.report.text import counted
from crashloop.slo.estimates import least_samples
from crashloop.slo.measurements import Interval, SloVerdict
from crashloop.slo.rows import Better
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.profile import StressProfile

NOISE_RATIO = 1.5
"""The largest ratio of two equal values. Two quiet runs of `quick` on two cores, with nothing changed, differed by a factor of
up to 1.31 where intervals did not overlap (CPU of the runtimes in the half minute after the storm)."""

MIN_SAMPLES = 8
"""A percentile of fewer samples than this is not compared, whatever its rank: their interval is too narrow."""


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A value as one run measured it."""

    value: float | None
    interval: Interval | None = None
    samples: int | None = None
    """None without single samples."""


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """The kind of a value."""

    name: str
    """Id of a row, or name of a figure."""
    unit: str
    better: Better
    percentile: float | None = None


class ValueChange(msgspec.Struct, frozen=True, kw_only=True):
    """One value in both runs."""

    measure: Measure
    before: Value
    after: Value
    change: Change | None = None
    """WORSE, BETTER or SAME; None if the two cannot be compared."""
    not_compared: str = ""
    """Why they cannot."""
    ratio: float | None = None
    """After divided by before; None if not compared, or not both are above zero."""
    threshold: float | None = None
    """The ratio beyond which, in either direction, values differ by more than noise."""

    @property
    def is_change(self) -> bool:
        return self.change in (Change.WORSE, Change.BETTER)


def value_change(measure: Measure, before: Value, after: Value, *, threshold: float, obstacle: str = "") -> ValueChange:
    """The two values beside each other. `obstacle`: why values of the two runs cannot be compared; empty if they can."""
    shown = ValueChange(measure=measure, before=before, after=after)
    reason = obstacle or _lacking(measure, before, after)
    if reason:
        return msgspec.structs.replace(shown, not_compared=reason)
    assert before.value is not None
    assert after.value is not None
    return msgspec.structs.replace(
        shown,
        change=_change(measure, before, after, threshold),
        ratio=after.value / before.value if min(before.value, after.value) > 0 else None,
        threshold=threshold,
    )


def _lacking(measure: Measure, before: Value, after: Value) -> str:
    """What prevents their comparison; empty if nothing does."""
    missing = [name for name, each in (("first", before), ("second", after)) if each.value is None]
    if missing:
        return f"no value in the {' and the '.join(missing)} run."
    if measure.percentile is not None:
        needed = max(MIN_SAMPLES, least_samples(measure.percentile))
        if min(before.samples or 0, after.samples or 0) < needed:
            return f"p{measure.percentile:g} of fewer than {needed} samples."
    if _bounds(before) is None or _bounds(after) is None:
        return "no interval: one of the runs has too few samples."
    return ""


def _change(measure: Measure, before: Value, after: Value, threshold: float) -> Change:
    old, new = _bounds(before), _bounds(after)
    assert old is not None
    assert new is not None
    apart = old[1] < new[0] or new[1] < old[0]
    if not apart or _times(before.value or 0.0, after.value or 0.0) <= threshold:
        return Change.SAME
    is_higher = (after.value or 0.0) > (before.value or 0.0)
    return Change.BETTER if is_higher is (measure.better is Better.HIGHER) else Change.WORSE


def _bounds(value: Value) -> tuple[float, float] | None:
    return None if value.interval is None else value.interval.bounds


def _times(one: float, other: float) -> float:
    """The larger divided by the smaller; values at or below zero count as tiny."""
    low, high = sorted((max(0.0, one), max(0.0, other)))
    if low > 0:
        return high / low
    return math.inf if high > 0 else 1.0


class JudgedStressRun(NamedTuple):
    """A stress run with its results and, from its plan, its load."""

    results: StressResults
    profile: StressProfile
    """As resolved for its host."""
    kubelets: tuple[KubeletProfile, ...]
    """Of each node of the profile, in the same order."""
    cores: int
    """CPUs of the host, which all nodes share."""

    @property
    def key(self) -> RunKey:
        """The system under stress. A node whose profile sets another release does not count, as in conformance runs."""
        binaries = sorted({each.kubelet_binary for each in self.kubelets if each.kubelet_binary})
        versions = [each.kubernetes_version for each in self.kubelets]
        return run_key(self.results, versions, kubelet_binary=" ".join(binaries) or None)


def stress_side(run: JudgedStressRun) -> Side:
    """Identity and circumstances of the run."""
    results = run.results
    return Side(run=results.run, key=run.key, suite=SUITE, scope=results.profile, started=results.started)


def verdicts_of(run: JudgedStressRun) -> dict[str, SloVerdict]:
    """The verdicts by the id of their row."""
    return {each.slo: each for each in run.results.verdicts}


def judged_slo(verdict: SloVerdict) -> ScenarioOutcome:
    """A verdict in the common form of comparisons; its sentence is its finding."""
    return ScenarioOutcome(standing=Standing(verdict.outcome.value), findings=(verdict.sentence,))


def kubelet_profiles(run: JudgedStressRun) -> dict[str, ProfileSummary]:
    """The kubelet profile of each node, by the node's name in the load profile."""
    curves = {node.profile: node.curve for node in run.results.nodes}
    return {
        node.name: ProfileSummary.of(kubelet, curves.get(kubelet.name, ""))
        for node, kubelet in zip(run.profile.nodes, run.kubelets, strict=True)
    }


def is_same_load(before: JudgedStressRun, after: JudgedStressRun) -> bool:
    """Whether both profiles have the same load, for the same time and in the same order; the kubelets may differ."""
    old, new = (_load(each.profile) for each in (before, after))
    return old == new


def _load(profile: StressProfile) -> Sequence[object]:
    return profile.loads, tuple(profile.each_stage()), profile.disturbances, profile.max_pods, profile.workers


AT_ITS_LIMIT = 0.9
"""Busy share of the host's CPU from which on the host has no reserve: the rows on restarts promise nothing beyond it."""

LEAST_LEFT = 0.01
"""Smallest assumed idle share of the host's CPU, since a share cannot be measured more exactly."""


class StageKey(NamedTuple):
    """The key for matching stages of two runs."""

    name: str
    mix: str
    arm: str
    number: int
    """1 for the first stage with that name, mix and arm."""

    def __str__(self) -> str:
        said = ", ".join(filter(None, (self.name, self.mix, self.arm)))
        return said if self.number == 1 else f"{said}, round {self.number}"


class StagePair(NamedTuple):
    """One stage; None for a run that has not measured it."""

    key: StageKey
    before: StageResult | None
    after: StageResult | None
    obstacle: str
    """Why its values cannot be compared; empty if they can."""
    at_its_limit: bool
    """Whether the host was busy in either run: where work queues, a little more work means much longer waits."""
    widened: float
    """Ratio of the CPU that was available to the load in the two runs."""


def stage_pairs(before: JudgedStressRun, after: JudgedStressRun) -> tuple[StagePair, ...]:
    """Every stage that at least one run has measured, in order."""
    old, new = _by_key(before.results.stages), _by_key(after.results.stages)
    return tuple(
        StagePair(
            key,
            old.get(key),
            new.get(key),
            _obstacle(before.profile, after.profile, old.get(key), new.get(key)),
            _is_at_its_limit(old.get(key)) or _is_at_its_limit(new.get(key)),
            _widened(before, after, old.get(key), new.get(key)),
        )
        for key in dict.fromkeys((*old, *new))
    )


def threshold_of(pairs: Iterable[StagePair], before: JudgedStressRun, after: JudgedStressRun) -> float:
    """The ratio by which values of these stages may differ.

    NOISE_RATIO once more if the host was at its limit: of 76 figures of two rounds of `full` on two cores, with nothing
    changed, 12 had intervals that did not overlap, and differed by a factor of up to 1.81. Once more if the runs had the same
    load in another order or for another time. All of it times the ratio of the available CPU, by cores and by other
    processes.
    """
    looked_at = tuple(pairs)
    reasons = (any(each.at_its_limit for each in looked_at), not is_same_load(before, after))
    return NOISE_RATIO ** (1 + sum(reasons)) * max((each.widened for each in looked_at), default=1.0)


def _by_key(stages: Iterable[StageResult]) -> dict[StageKey, StageResult]:
    seen: Counter[tuple[str, str, str]] = Counter()
    found = {}
    for each in stages:
        kind = (each.name, each.mix, each.arm)
        seen[kind] += 1
        found[StageKey(*kind, seen[kind])] = each
    return found


def _obstacle(before: StressProfile, after: StressProfile, old: StageResult | None, new: StageResult | None) -> str:
    if old is None or new is None:
        return f"measured in the {'first' if new is None else 'second'} run only."
    if before.disturbances != after.disturbances:
        return "the runs do not disturb the cluster in the same way."
    if old.users != new.users:
        return f"{_users(old)} in the first run, {_users(new)} in the second."
    differing = [name for name in old.users if before.loads.get(name) != after.loads.get(name)]
    return f"the runs do not have the same load {', '.join(differing)}." if differing else ""


def _is_at_its_limit(stage: StageResult | None) -> bool:
    return stage is not None and (stage.figures.get("host_busy_share") or 0.0) > AT_ITS_LIMIT


def _users(stage: StageResult) -> str:
    return " and ".join(f"{count} {name}" for name, count in stage.users.items()) or "no users"


def _widened(
    before: JudgedStressRun, after: JudgedStressRun, old: StageResult | None, new: StageResult | None
) -> float:
    shares = [each.figures.get("foreign_cpu_share") if each is not None else None for each in (old, new)]
    known = [0.0 if None in shares else share or 0.0 for share in shares]
    left = [run.cores * max(LEAST_LEFT, 1 - share) for run, share in zip((before, after), known, strict=True)]
    return max(left) / min(left)


def stages_in_words(profile: StressProfile) -> str:
    """`baseline 40 s, storm 130 s, recovery 30 s; 2 rounds`."""
    stages = ", ".join(f"{stage.label} {stage.duration_s:g} s" for stage in profile.stages)
    return stages if profile.rounds == 1 else f"{stages}; {counted(profile.rounds, 'round')}"


class StageChange(msgspec.Struct, frozen=True, kw_only=True):
    """One stage in both runs."""

    stage: str
    """Its name, and its mix, arm and round where it has them."""
    not_compared: str = ""
    """Why none of its figures can be compared; empty if they can."""
    figures: tuple[ValueChange, ...] = ()
    """The figures with a value in at least one run."""


def stage_change(pair: StagePair, *, threshold: float) -> StageChange:
    """A stage's figures beside each other."""
    changes = (
        value_change(
            Measure(name=name, unit=kind.unit, better=kind.better, percentile=kind.percentile),
            _value(name, pair.before),
            _value(name, pair.after),
            threshold=threshold,
            obstacle=pair.obstacle,
        )
        for name, kind in FIGURES.items()
        if kind.better is not None
    )
    return StageChange(
        stage=str(pair.key),
        not_compared=pair.obstacle,
        figures=tuple(each for each in changes if (each.before.value, each.after.value) != (None, None)),
    )


def _value(name: str, stage: StageResult | None) -> Value:
    if stage is None:
        return Value(value=None)
    samples = stage.figures.get(FIGURES[name].samples)
    return Value(
        value=stage.figures.get(name),
        interval=stage.intervals.get(name),
        samples=None if samples is None else int(samples),
    )
