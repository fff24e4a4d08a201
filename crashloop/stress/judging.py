"""Judges a stress run from its directory alone, right after the run or years later: slo.json and its views."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from crashloop.checks.everywhere import of_all_pods
from crashloop.report.results import DeviationText, coverage_of, texts_of
from crashloop.report.stress.results import NodeResult, RowText, StageResult, StressResults, exit_code_of, outcome_of
from crashloop.requirements import load_deviations, load_requirements
from crashloop.run.analysis import curve_in_words
from crashloop.slo.judge import judge, judge_requirement, judge_step
from crashloop.slo.measurements import Lifecycle, Measured, Phase, SloVerdict
from crashloop.slo.rows import ConservationSli, SloRow
from crashloop.slo.scrapes import Scrapes
from crashloop.spec.version import KubernetesVersion
from crashloop.stress.arrivals import open_models, reads_of
from crashloop.stress.checks import checks
from crashloop.stress.comparing import ComparedRun, comparisons
from crashloop.stress.costing import predicted_per_s, run_costs, why_unpredicted
from crashloop.stress.evidence_reader import EveryPod, read_recorded
from crashloop.stress.figures import figures, intervals, restart_times_ns, within
from crashloop.stress.folder import Cause, StressDir, cuts_ns, load_scrapes, write_lifecycles
from crashloop.stress.highest_rate import TEXT as LIMIT
from crashloop.stress.highest_rate import highest_rate
from crashloop.stress.lent_nodes import pooled
from crashloop.stress.phases import Measurement, began_ns, cut_ns, ended_ns, measurements
from crashloop.stress.plan import StressPlan
from crashloop.stress.plan_text import crashing_pods, planned_run
from crashloop.stress.profile import Stage, hosts_in, loaded_in
from crashloop.stress.requirements import requirement_verdicts, rows_of, sample_targets
from crashloop.stress.served import served_pods, served_results, served_series
from crashloop.stress.timeline import dots, held, latencies, load_curves, timeline
from crashloop.verdict import Verdict

WHOLE = "whole run"


def judge_run(run: StressDir, *, keeps_lifecycles: bool = True) -> StressResults:
    """Judge the whole run. Raises UsageError if its plan cannot be read, OSError if its evidence cannot.

    `keeps_lifecycles`: write metrics/lifecycles.jsonl; without it the directory stays unchanged.
    """
    plan, info, marks, incidents = run.stress_plan(), run.info(), run.marks(), run.incidents()
    rows = rows_of(plan.load.slos)
    catalogue = load_requirements()
    every_pod = EveryPod(catalogue, load_deviations(), KubernetesVersion.parse(plan.kubernetes_version))
    recorded = read_recorded(run, plan, every_pod)
    if keeps_lifecycles and run.metrics_dir.exists():
        write_lifecycles(run.metrics_dir, recorded.lifecycles)
    scrapes = load_scrapes(run.metrics_dir)
    began = began_ns(marks) or round(info.started.timestamp() * 1e9)
    ended = max(_last_ns(recorded.lifecycles, scrapes), ended_ns(marks) or began, began + 1)
    hosts = run.hosts()
    cut = cut_ns(marks, cuts_ns(incidents))
    seen = measurements(plan.stages, marks, until_ns=cut or ended)
    unpredicted = why_unpredicted(info.started)
    measured = tuple(_under_load(each, plan, hosts, unpredicted) for each in seen)
    of_stages = Measured(
        phases=tuple(each.phase for each in measured),
        scrapes=tuple(scrapes),
        lifecycles=tuple(recorded.lifecycles),
        reads=tuple(reads_of(plan.load.loads, recorded.operations)),
        served=tuple(served_pods(plan.load.loads, recorded.operations, recorded.lifecycles)),
    )
    limit = highest_rate(
        measured,
        plan.load.loads,
        rows,
        partial(_judged_alone, of_stages=of_stages),
        partial(_restarts_per_s, restart_times_ns(recorded.lifecycles)),
        nodes=len(plan.spread) or 1,
    )
    checked = (*checks(plan, measured, recorded, incidents), *([limit] if limit else []))
    measured_for = partial(_measured_for, of_stages=of_stages, whole=(began, ended))
    verdicts = (*checked, *(judge(row, measured_for(row)) for row in rows))
    judged = (
        *requirement_verdicts(
            plan,
            catalogue,
            rows,
            lambda row: judge_requirement(row, measured_for(row)),
            checked,
            _names(run.metrics_dir),
        ),
        *of_all_pods(recorded.of_pods),
    )
    outcome = outcome_of(verdicts, judged)
    interrupted = any(each.cause is Cause.INTERRUPTED for each in incidents)
    by_node = pooled(plan, recorded.lifecycles)
    evidence = ComparedRun(plan, hosts, scrapes, recorded.lifecycles, sample_targets(rows))
    return StressResults(
        profile=plan.load.name,
        description=plan.load.description,
        provider=plan.provider,
        kubernetes_version=plan.kubernetes_version,
        crashloop_version=info.crashloop_version,
        run=run.name,
        directory=str(run.root.resolve()),
        arguments=tuple(map(str, info.settings.get("arguments", ()))),
        started=info.started,
        finished=max(info.started, datetime.fromtimestamp(ended / 1e9, UTC)),
        outcome=outcome,
        exit_code=exit_code_of(outcome, interrupted=interrupted),
        verdicts=verdicts,
        judged=judged,
        requirements=texts_of({each.requirement for each in judged}, catalogue),
        coverage=coverage_of(judged, catalogue=len(catalogue)),
        deviations=tuple(_deviations(rows, verdicts, judged)),
        rows=(*(_text(row) for row in rows), *([LIMIT] if limit else [])),
        nodes=tuple(_nodes(plan, hosts)),
        stages=tuple(_stage(each, evidence, began) for each in measured),
        series=(
            *timeline(scrapes, by_node, began_ns=began, ended_ns=ended),
            *served_series(of_stages.served, scrapes, began_ns=began, ended_ns=ended),
            *latencies(rows, scrapes, began_ns=began),
            *held(rows, scrapes, began_ns=began),
        ),
        dots=dots(by_node, rows, began_ns=began),
        curves=load_curves(by_node, measured, partial(_profile_on, plan, hosts)),
        comparisons=comparisons(evidence, measured),
        arrivals=open_models(plan.load.loads, recorded.operations, measured),
        served=tuple(served_results(of_stages, measured, began_ns=began)),
        incidents=tuple(
            f"{(each.t_ns - began) / 1e9:.0f} s, {each.cause.value}: {each.sentence}" for each in incidents
        ),
        costs=run_costs(plan, measured, of_stages),
        totals=_totals(recorded.lifecycles, recorded.events),
        environment=run.environment(),
        planned=planned_run(plan, measured, hosts, scrapes),
    )


def _under_load(measured: Measurement, plan: StressPlan, hosts: Mapping[str, str], unpredicted: str) -> Measurement:
    """The stage with the Node objects under load in it, and its predicted restarts."""
    phase = msgspec.structs.replace(
        measured.phase,
        nodes=tuple(plan.spread or loaded_in(measured.stage, plan.load.loads, hosts)),
        predicted_per_s=None if unpredicted else predicted_per_s(plan, measured.stage),
        unpredicted=unpredicted,
    )
    return msgspec.structs.replace(measured, phase=phase)


def _measured_for(row: SloRow, *, of_stages: Measured, whole: tuple[int, int]) -> Measured:
    """Conservation is judged over the whole run, everything else over the measured stages."""
    if not isinstance(row.sli, ConservationSli):
        return of_stages
    everything = Phase(name=WHOLE, from_ns=whole[0], to_ns=whole[1])
    return msgspec.structs.replace(of_stages, phases=(everything,))


def _judged_alone(row: SloRow, step: Measurement, *, of_stages: Measured) -> SloVerdict:
    """One step of a load, beside the phases without it."""
    phases = (*(each for each in of_stages.phases if each.name != step.phase.name), step.phase)
    alone = msgspec.structs.replace(row, phase=step.phase.name)
    return judge_step(alone, msgspec.structs.replace(of_stages, phases=phases))


def _restarts_per_s(times_ns: NDArray[np.int64], step: Measurement) -> float:
    return within(times_ns, step.phase.from_ns, step.phase.to_ns) / step.phase.seconds


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.jsonl"))


def _stage(measured: Measurement, seen: ComparedRun, began: int) -> StageResult:
    stage, phase = measured.stage, measured.phase
    return StageResult(
        name=stage.name,
        mix=stage.mix,
        arm=stage.arm,
        from_s=round((phase.from_ns - began) / 1e9, 2),
        to_s=round((phase.to_ns - began) / 1e9, 2),
        users={name: int(count) for name, count in stage.users.items()},
        crashing_pods=crashing_pods(stage, seen.plan.load.loads),
        figures=figures(phase, seen.scrapes, seen.lifecycles, seen.targets),
        intervals=intervals(phase, seen.scrapes, seen.lifecycles, seen.targets),
    )


def _deviations(
    rows: Iterable[SloRow], verdicts: Iterable[SloVerdict], judged: Iterable[Verdict]
) -> Iterator[DeviationText]:
    named = {each.deviation for each in verdicts} | {each.deviation for each in judged}
    for row in rows:
        if row.deviation is not None and row.id in named:
            yield DeviationText(id=row.id, sentence=row.deviation.sentence, evidence=row.deviation.evidence)
    yield from (DeviationText.of(each) for each in load_deviations() if each.id in named)


def _text(row: SloRow) -> RowText:
    percentile = f"p{row.percentile:g} " if row.percentile is not None else ""
    promise = f"{percentile}{row.target.words}"
    return RowText(
        id=row.id,
        definition=row.definition,
        source=row.source,
        promise=promise,
        better=row.target.better,
        phase=row.phase,
    )


def _nodes(plan: StressPlan, hosts: dict[str, str]) -> Iterable[NodeResult]:
    version = KubernetesVersion.parse(plan.kubernetes_version)
    for node, kubelet in zip(plan.load.nodes, plan.kubelets, strict=True):
        yield NodeResult(
            name=hosts.get(node.name, node.name),
            profile=kubelet.name,
            arm=node.arm,
            config=kubelet.config,
            curve=curve_in_words(kubelet, version),
            kubernetes_version=kubelet.kubernetes_version,
            stands_for=tuple(plan.spread),
        )


def _profile_on(plan: StressPlan, hosts: dict[str, str], host: str, stage: Stage) -> str:
    """The kubelet profile of a Node object in a stage. Raises KeyError."""
    return plan.kubelet({name: node for node, name in hosts_in(stage, hosts).items()}[host]).name


def _last_ns(lifecycles: Iterable[Lifecycle], scrapes: Iterable[Scrapes]) -> int:
    seen = (pod.deleted_ns or pod.seen_until_ns or 0 for pod in lifecycles)
    return max([*seen, *(each.t_ns[-1] for each in scrapes if each.t_ns)], default=0)


def _totals(lifecycles: Sequence[Lifecycle], events: int) -> dict[str, float]:
    starts = sum(len(moments) for pod in lifecycles for moments in pod.starts_ns.values())
    containers = sum(1 for pod in lifecycles for moments in pod.starts_ns.values() if moments)
    return {
        "pods": len(lifecycles),
        "container_starts": starts,
        "restarts": starts - containers,
        "history_events": events,
    }
