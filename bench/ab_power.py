"""Power and false alarms of A/B comparisons, counted in live runs: of a dearer kubelet, and of equal ones (A/A).

    python -m bench.ab_power [RUN ...]      (default: the stress runs below runs/; prints a Markdown table)

A row has one primary effect of the runs with one treatment, or all of its primary effects together. *Higher* are the runs that
read it as higher: of a treatment that is dearer, their share is the power. *Higher or lower* are those that called it a
difference: of A/A their share is that of false alarms. Readings are those of the run, by Holm among its primary effects. A run
without a reading found nothing, and counts; interrupted runs and those without a comparison are named and left out. Intervals
of shares are Wilson's, of 95 %. An A/A run also has the share of its relabellings with a false alarm (bench.relabelled).
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.relabelled import relabelled
from crashloop.report.stress.results import Comparison, StressResults
from crashloop.settings import resolve_settings
from crashloop.slo.effect import Effect, EffectReading
from crashloop.slo.estimates import wilson
from crashloop.slo.paired import POWER
from crashloop.stress.folder import StressDir
from crashloop.stress.plan import StressPlan
from crashloop.stress.publishing import published_stress
from crashloop.verdict import ExitCode

ANY = "any of them"
EQUAL = "A/A"
DIFFERENT = (EffectReading.HIGHER, EffectReading.LOWER)
HEADER = (
    "Treatment",
    "Primary effect",
    "Higher",
    "Higher or lower",
    "Ratio, median",
    f"Visible with a power of {100 * POWER:g} %, median",
    "Longest run",
)


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
    return next(filter(None, binaries), comparison.treatment)


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


def table(lines: Iterable[Counted]) -> str:
    """As Markdown."""
    rows: list[tuple[str, ...]] = [HEADER, ("---",) * len(HEADER), *map(_cells, lines)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def _cells(line: Counted) -> tuple[str, ...]:
    return (
        line.treatment,
        line.effect,
        _share(line.higher, line.runs),
        _share(line.different, line.runs),
        "–" if line.ratio is None else f"{line.ratio:.3f}",
        "–" if line.visible is None else f"{100 * (line.visible - 1):.1f} %",
        f"{line.longest_s / 60:.1f} min",
    )


def _share(number: int, runs: int) -> str:
    """Such as `9 of 10: 90 % (60 to 98 %)`."""
    lower, upper = wilson(number, runs).bounds or (0.0, 1.0)
    return f"{number} of {runs}: {100 * number / runs:.0f} % ({100 * lower:.0f} to {100 * upper:.0f} %)"


def of_relabellings(run: ComparedRun) -> str | None:
    """The false alarms among the relabellings of an A/A run, as a sentence; None where they are not known."""
    found = relabelled(tuple(run.effects.values())) if run.treatment.endswith(f": {EQUAL}") else None
    return found and f"{_share(found.alarms, found.labellings)} relabellings of its pairs call a difference."


def main(paths: Sequence[Path]) -> None:
    found = []
    for path in paths or sorted(resolve_settings().paths.runs_dir.glob("*-stress")):
        run = StressDir.open(path)
        one = compared_run(published_stress(run), run.stress_plan()) if run.slo_json.exists() else None
        if one is None:
            print(f"{path}: is left out; it holds no judged comparison that came to its end.", file=sys.stderr)
        else:
            found.append(one)
            if sentence := of_relabellings(one):
                print(f"{path}: {sentence}")
    print(table(counted(found)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="*")
    main(parser.parse_args().runs)
