"""The primary effects of comparisons, by treatment: in how many runs each was called a difference."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from crashloop.report.stress.results import Comparison, StressResults
from crashloop.slo.compare import Effect, EffectReading
from crashloop.stress.plan import StressPlan
from crashloop.verdict import ExitCode

ANY = "any of them"
EQUAL = "A/A"
DIFFERENT = (EffectReading.HIGHER, EffectReading.LOWER)


class ComparedRun(NamedTuple):
    """The primary effects of a run, by name."""

    treatment: str
    """Profile and treatment, such as `ab-kubelet: A/A`."""
    took_s: float
    effects: dict[str, Effect]


class Counted(NamedTuple):
    """An effect in all runs with a treatment."""

    treatment: str
    effect: str
    runs: int
    higher: int
    different: int
    ratio: float | None
    """The median; None without one, and for all effects together."""
    visible: float | None
    """The median of the smallest ratios that would have been found."""
    longest_s: float


def compared_run(results: StressResults, plan: StressPlan) -> ComparedRun | None:
    """None for a run without a comparison, and for an interrupted one."""
    if results.exit_code == ExitCode.INTERRUPTED or not results.comparisons:
        return None
    binaries = [plan.kubelet(node.name).kubelet_binary for node in plan.load.nodes if node.arm == "treatment"]
    return ComparedRun(
        treatment=f"{results.profile}: {_treatment(results.comparisons[0], binaries)}",
        took_s=(results.finished - results.started).total_seconds(),
        effects={
            ", ".join(filter(None, (comparison.mix, effect.what))): effect
            for comparison in results.comparisons
            for effect in comparison.effects
            if effect.primary
        },
    )


def _treatment(comparison: Comparison, binaries: Iterable[str | None]) -> str:
    if comparison.baseline == comparison.treatment:
        return EQUAL
    return next((Path(each).name for each in binaries if each), comparison.treatment)


def counted(runs: Iterable[ComparedRun]) -> Iterator[Counted]:
    """By treatment: a line for each effect, and one for all of them."""
    by_treatment: dict[str, list[ComparedRun]] = defaultdict(list)
    for run in runs:
        by_treatment[run.treatment].append(run)
    for treatment, ours in sorted(by_treatment.items()):
        for name in dict.fromkeys(name for run in ours for name in run.effects):
            found = [run.effects[name] for run in ours if name in run.effects]
            readings = [(each.reading,) for each in found]
            yield _line(treatment, name, ours, readings, found)
        yield _line(treatment, ANY, ours, [[each.reading for each in run.effects.values()] for run in ours], ())


def _line(
    treatment: str,
    effect: str,
    runs: Sequence[ComparedRun],
    readings: Iterable[Sequence[EffectReading]],
    found: Sequence[Effect],
) -> Counted:
    """`readings` of each run that has some."""
    read = list(readings)
    return Counted(
        treatment=treatment,
        effect=effect,
        runs=len(runs),
        higher=sum(EffectReading.HIGHER in each for each in read),
        different=sum(any(reading in DIFFERENT for reading in each) for each in read),
        ratio=_median(each.ratio for each in found),
        visible=_median(each.smallest_visible for each in found),
        longest_s=max(each.took_s for each in runs),
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return median(known) if known else None
