"""Judges a stress run from its directory alone, right after the run or years later: reads, judges, and gives the results."""

import msgspec

from crashloop.checks.everywhere import of_all_pods
from crashloop.report.stress.results import StressResults
from crashloop.slo.judge import judge, judge_requirement, judge_step
from crashloop.slo.measurements import SloVerdict
from crashloop.slo.rows import SloRow
from crashloop.stress.checks import checks
from crashloop.stress.evidence_reader import RunEvidence, read_evidence
from crashloop.stress.figures import restart_times_ns, within
from crashloop.stress.folder import StressDir, write_lifecycles
from crashloop.stress.highest_rate import highest_rate
from crashloop.stress.phases import Measurement
from crashloop.stress.requirements import requirement_verdicts
from crashloop.stress.results import results_of
from crashloop.verdict import Verdict


def judge_run(run: StressDir, *, keeps_lifecycles: bool = True) -> StressResults:
    """Judge the whole run. Raises UsageError if its plan cannot be read, OSError if its evidence cannot.

    `keeps_lifecycles`: write metrics/lifecycles.jsonl; without it the directory stays unchanged.
    """
    seen = read_evidence(run)
    if keeps_lifecycles and run.metrics_dir.exists():
        write_lifecycles(run.metrics_dir, seen.recorded.lifecycles)
    checked = (*checks(seen.plan, seen.stages, seen.recorded, seen.incidents), *_highest_rate(seen))
    metrics = sorted(path.name for path in run.metrics_dir.glob("*.jsonl"))
    return results_of(
        seen,
        (*checked, *(judge(row, seen.measured_for(row)) for row in seen.rows)),
        (*_of_requirements(seen, checked, metrics), *of_all_pods(seen.recorded.of_pods)),
        name=run.name,
        directory=str(run.root.resolve()),
        environment=run.environment(),
    )


def _of_requirements(seen: RunEvidence, checked: tuple[SloVerdict, ...], metrics: list[str]) -> tuple[Verdict, ...]:
    def judged(row: SloRow) -> SloVerdict:
        return judge_requirement(row, seen.measured_for(row))

    return requirement_verdicts(seen.plan, seen.catalogue, seen.rows, judged, checked, metrics)


def _highest_rate(seen: RunEvidence) -> tuple[SloVerdict, ...]:
    """The verdict on the steps of a load, if it has any. A step is judged beside the phases without it."""
    times_ns, of_run = restart_times_ns(seen.recorded.lifecycles), seen.measured

    def judged_alone(row: SloRow, step: Measurement) -> SloVerdict:
        phases = (*(each for each in of_run.phases if each.name != step.phase.name), step.phase)
        alone = msgspec.structs.replace(row, phase=step.phase.name)
        return judge_step(alone, msgspec.structs.replace(of_run, phases=phases))

    def restarts_per_s(step: Measurement) -> float:
        return within(times_ns, step.phase.from_ns, step.phase.to_ns) / step.phase.seconds

    nodes = len(seen.plan.spread) or 1
    found = highest_rate(seen.stages, seen.plan.load.loads, seen.rows, judged_alone, restarts_per_s, nodes=nodes)
    return () if found is None else (found,)
