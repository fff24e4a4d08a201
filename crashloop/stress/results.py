"""The results of a judged stress run: figures, lines and curves beside the verdicts. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from crashloop.deviations import load_deviations
from crashloop.report.results import DeviationText, coverage_of, texts_of
from crashloop.report.stress.results import NodeResult, RowText, StageResult, StressResults, exit_code_of, outcome_of
from crashloop.run.analysis import curve_in_words
from crashloop.slo.measurements import Lifecycle, SloVerdict
from crashloop.slo.rows import SloRow
from crashloop.spec.version import KubernetesVersion
from crashloop.stress.arrivals import open_models
from crashloop.stress.comparing import ComparedRun, comparisons
from crashloop.stress.costing import run_costs
from crashloop.stress.evidence_reader import RunEvidence
from crashloop.stress.figures import figures, intervals
from crashloop.stress.folder import Cause
from crashloop.stress.highest_rate import TEXT as LIMIT
from crashloop.stress.lent_nodes import pooled
from crashloop.stress.phases import Measurement
from crashloop.stress.plan import StressPlan
from crashloop.stress.plan_text import crashing_pods, planned_run
from crashloop.stress.profile import Stage, hosts_in
from crashloop.stress.requirements import sample_targets
from crashloop.stress.served import served_results, served_series
from crashloop.stress.timeline import dots, held, latencies, load_curves, timeline
from crashloop.verdict import Verdict


def results_of(
    seen: RunEvidence,
    verdicts: tuple[SloVerdict, ...],
    judged: tuple[Verdict, ...],
    *,
    name: str,
    directory: str,
    environment: dict[str, Any],
) -> StressResults:
    """`name` and `directory` are those of the run directory, `environment` is its environment.json."""
    plan, info, rows, recorded = seen.plan, seen.info, seen.rows, seen.recorded
    began, ended, scrapes = seen.began_ns, seen.ended_ns, seen.scrapes
    outcome = outcome_of(verdicts, judged)
    interrupted = any(each.cause is Cause.INTERRUPTED for each in seen.incidents)
    by_node = pooled(plan, recorded.lifecycles)
    compared = ComparedRun(plan, seen.hosts, scrapes, recorded.lifecycles, sample_targets(rows))
    named = {each.slo for each in verdicts}
    return StressResults(
        profile=plan.load.name,
        description=plan.load.description,
        provider=plan.provider,
        kubernetes_version=plan.kubernetes_version,
        crashloop_version=info.crashloop_version,
        run=name,
        directory=directory,
        arguments=tuple(map(str, info.settings.get("arguments", ()))),
        started=info.started,
        finished=max(info.started, datetime.fromtimestamp(ended / 1e9, UTC)),
        outcome=outcome,
        exit_code=exit_code_of(outcome, interrupted=interrupted),
        verdicts=verdicts,
        judged=judged,
        requirements=texts_of({each.requirement for each in judged}, seen.catalogue),
        coverage=coverage_of(judged, catalogue=len(seen.catalogue)),
        deviations=tuple(_deviations(rows, verdicts, judged)),
        rows=(*map(_text, rows), *([LIMIT] if LIMIT.id in named else [])),
        nodes=tuple(_nodes(plan, seen.hosts)),
        stages=tuple(_stage(each, compared, began) for each in seen.stages),
        series=(
            *timeline(scrapes, by_node, began_ns=began, ended_ns=ended),
            *served_series(seen.measured.served, scrapes, began_ns=began, ended_ns=ended),
            *latencies(rows, scrapes, began_ns=began),
            *held(rows, scrapes, began_ns=began),
        ),
        dots=dots(by_node, rows, began_ns=began),
        curves=load_curves(by_node, seen.stages, partial(_profile_on, plan, seen.hosts)),
        comparisons=comparisons(compared, seen.stages),
        arrivals=open_models(plan.load.loads, recorded.operations, seen.stages),
        served=tuple(served_results(seen.measured, seen.stages, began_ns=began)),
        incidents=tuple(
            f"{(each.t_ns - began) / 1e9:.0f} s, {each.cause.value}: {each.sentence}" for each in seen.incidents
        ),
        costs=run_costs(plan, seen.stages, seen.measured),
        totals=_totals(recorded.lifecycles, recorded.events),
        environment=environment,
        planned=planned_run(plan, seen.stages, seen.hosts, scrapes),
    )


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


def _totals(lifecycles: Sequence[Lifecycle], events: int) -> dict[str, float]:
    starts = sum(len(moments) for pod in lifecycles for moments in pod.starts_ns.values())
    containers = sum(1 for pod in lifecycles for moments in pod.starts_ns.values() if moments)
    return {
        "pods": len(lifecycles),
        "container_starts": starts,
        "restarts": starts - containers,
        "history_events": events,
    }
