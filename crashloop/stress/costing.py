"""The cost of one restart in a stress run, and the predicted restarts of a stage. Pure.

The cost is costs.json, for `crashloop predict --costs`: growth of counters per restart, minus the baseline's. A prediction
follows from the number of crashing pods, their curve, and the default costs. A run that the default costs are from is not
predicted by them: it would be judged by itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from statistics import fmean

import msgspec

from crashloop.errors import ObservationError
from crashloop.model.config import Refusal, effective_curve
from crashloop.model.gates import kubelet_version
from crashloop.model.restart_counts import most_late_s
from crashloop.model.variants import as_shipped
from crashloop.predict.costs import COSTED, MEASURED, Costs, CostsAt, is_source
from crashloop.predict.load import CrashLoad, settled_per_s, settles_within_s
from crashloop.slo.measurements import Measured, Phase, Restart, SliResult
from crashloop.slo.metrics import ratio
from crashloop.slo.preconditions import facts_of
from crashloop.slo.rows import RatioSli
from crashloop.spec.pod import Action
from crashloop.spec.version import KubernetesVersion
from crashloop.stress.loads import Crash
from crashloop.stress.phases import Measurement
from crashloop.stress.plan import StressPlan
from crashloop.stress.plan_text import restarted_share, user_in_words
from crashloop.stress.profile import Stage

AT_REST, UNDER_LOAD = "baseline", "storm"
"""Names of the stages to use; a baseline has the churn of the storm, but no crashing pods."""
MIN_RESTARTS = 100
NOT_SUBTRACTED = ", with what the nodes use at rest, since the load has no baseline"


def run_costs(plan: StressPlan, stages: Sequence[Measurement], measured: Measured) -> Costs | None:
    """The costs of a restart, from the stage with the most restarts that did not drive the host to its limit.

    If all did, from the stage with the most, marked as `saturated`. The sustained rate is the highest of those stages; if that
    is another stage, the source names it. None if no stage had enough restarts, or scrapes are missing.
    """
    idle = AT_REST if any(each.phase.name == AT_REST for each in stages) else None
    found = [(each, costs) for each in stages if (costs := _costs_of_stage(plan, each, measured, idle)) is not None]
    if not found:
        return None
    below = [(each, costs) for each, costs in found if costs.sustained_per_s is None]
    by_load = tuple(at for each, costs in below if (at := _costs_under_load(plan, each, costs)) is not None)
    stage, chosen = max(below or found, key=lambda one: one[1].restarts)
    driven = max(
        ((each, costs) for each, costs in found if costs.sustained_per_s is not None),
        key=lambda one: one[1].sustained_per_s or 0.0,
        default=None,
    )
    chosen = msgspec.structs.replace(chosen, by_load=by_load)
    if driven is None:
        return chosen
    limit, sustained = driven
    elsewhere = f"; sustained rate: {_crashing_loads(plan, limit)}" if limit.index != stage.index else ""
    return msgspec.structs.replace(
        chosen,
        sustained_per_s=sustained.sustained_per_s,
        saturated=not below,
        source=f"{chosen.source}{elsewhere}",
    )


def _costs_of_stage(plan: StressPlan, stage: Measurement, measured: Measured, idle: str | None) -> Costs | None:
    if stage.phase.name != UNDER_LOAD or not stage.whole:
        return None
    try:
        costs = costs_of(measured, stage.phase, source=_costs_source(plan, stage, idle), idle=idle)
    except ObservationError:
        return None
    return costs if costs.restarts >= MIN_RESTARTS else None


def _costs_under_load(plan: StressPlan, stage: Measurement, costs: Costs) -> CostsAt | None:
    """The costs under the load of a stage. None if several nodes restarted, so that its rate is not that of one, or if the
    requests of restarts are lost among the others."""
    nodes = {
        plan.load.loads[name].node for name, count in stage.stage.users.items() if count and _has_crashes(plan, name)
    }
    if len(nodes) != 1 or plan.spread or not costs.api_requests:
        return None
    kubelet, version = plan.kubelet(nodes.pop()), KubernetesVersion.parse(plan.kubernetes_version)
    curve = effective_curve(kubelet, version, deviations=as_shipped(kubelet_version(kubelet, version)))
    if isinstance(curve, Refusal):
        return None
    return CostsAt(
        restarts_per_s=round(costs.restarts / stage.phase.seconds, 3),
        maximum_s=curve.maximum_s,
        restarts=costs.restarts,
        overhead_s=costs.overhead_s,
        intervals=costs.intervals,
        **{name: getattr(costs, name) for name in COSTED},
    )


def _has_crashes(plan: StressPlan, load: str) -> bool:
    return bool(restarted_share(plan.load.loads[load]))


def _costs_source(plan: StressPlan, stage: Measurement, idle: str | None) -> str:
    profiles = ", ".join(dict.fromkeys(kubelet.name for kubelet in plan.kubelets))
    return (
        f"load {plan.load.name}, {_crashing_loads(plan, stage)}, for {stage.phase.seconds:.0f} s, kubelet profile {profiles}, "
        f"Kubernetes {plan.kubernetes_version}, provider {plan.provider}{'' if idle else NOT_SUBTRACTED}"
    )


def _crashing_loads(plan: StressPlan, stage: Measurement) -> str:
    """The crashing loads of a stage: lives that run have other costs than lives that exit at once."""
    crashing = {name: plan.load.loads[name] for name in stage.stage.users if _has_crashes(plan, name)}
    loads = ", ".join(f"{stage.stage.users[name]} x {name}, {user_in_words(load)}" for name, load in crashing.items())
    theirs = any(isinstance(load, Crash) and load.own is not None for load in crashing.values())
    return f"stage {stage.stage.label} ({loads}{'' if theirs else '; every life writes to its journal'})"


OWN_COSTS = "the default costs of crashloop predict are from this run, which would be judged by itself"


def why_unpredicted(started: datetime) -> str:
    """Why no stage of the run that started then is predicted; empty if the stages decide."""
    return OWN_COSTS if is_source(started) else ""


def predicted_per_s(plan: StressPlan, stage: Stage) -> float | None:
    """Restarts per second by `crashloop predict`, if its costs are those of another run.

    None unless exactly one load of known lives restarts, container by container, with delays at their maximum before the
    measurement.
    """
    found = [
        (load, int(count)) for name, count in stage.users.items() if restarted_share(load := plan.load.loads[name])
    ]
    if len(found) != 1:
        return None
    ((load, count),) = found
    pods = round(count * restarted_share(load))
    restarts_all = isinstance(load, Crash) and load.rule and load.rule.action is Action.RESTART_ALL_CONTAINERS
    if not isinstance(load, Crash) or load.own is not None or restarts_all or not pods:
        return None
    kubelet, version = plan.kubelet(load.node), KubernetesVersion.parse(plan.kubernetes_version)
    curve = effective_curve(kubelet, version, deviations=as_shipped(kubelet_version(kubelet, version)))
    if isinstance(curve, Refusal):
        return None
    nodes = len(plan.spread) or 1
    crashing = CrashLoad(
        nodes=nodes,
        pods=max(1, round(pods / nodes)),
        curve=curve,
        containers=load.containers,
        run_s=load.run_s,
        cores=float(plan.cores),
    )
    settled = settles_within_s(crashing, MEASURED) <= stage.settle_s
    return settled_per_s(crashing, MEASURED) if settled else None


BUSY, OWN = 0.9, 0.75
"""From these shares on (of the host's CPU, and of the cluster in it), the rate of restarts counts as the highest possible."""
CPU = "component_cpu_seconds_total"
COMPONENTS = ("kubelet", "runtime", "apiserver", "etcd")
_WRITES = ("POST", "PUT", "PATCH", "DELETE")


def costs_of(measured: Measured, storm: Phase, *, source: str, idle: str | None = "baseline") -> Costs:
    """The costs of one restart in a phase. `idle` names the phase with the same churn but no crashing pods, which is
    subtracted; None: nothing is.

    Raises ObservationError where scrapes, restarts or that phase are missing. Costs below zero, which are noise around
    small ones, count as zero.
    """
    facts = facts_of(measured, storm, ("cores", "cpu_busy_share", "cluster_cpu_share"))
    if "cores" not in facts:
        raise ObservationError("the number of cores is not known: machine_cpu_cores was not scraped.")
    lacking = set(COMPONENTS) - {
        series.labels.get("component")
        for scrapes in measured.scrapes
        for series in scrapes.series
        if series.name == CPU
    }
    if lacking:
        raise ObservationError(f"the CPU of {', '.join(sorted(lacking))} is not known: {CPU} was not scraped.")
    requests = RatioSli(source="kubelet", metric="rest_client_requests_total", per="restarts", idle=idle)
    writes = RatioSli(
        source="kubelet", metric="rest_client_requests_total", where={"method": _WRITES}, per="restarts", idle=idle
    )
    seconds = {f"{component}_cpu_s": _cpu(component, idle) for component in COMPONENTS}
    rows = {"api_requests": requests, "api_writes": writes} | seconds
    found = {name: ratio(row, measured, storm) for name, row in rows.items()}
    restarts = found["api_requests"].samples
    return Costs(
        source=source,
        cores=facts["cores"],
        restarts=restarts,
        api_requests=_cost(found["api_requests"]),
        api_writes=_cost(found["api_writes"]),
        kubelet_cpu_s=_cost(found["kubelet_cpu_s"]),
        runtime_cpu_s=_cost(found["runtime_cpu_s"]),
        apiserver_cpu_s=_cost(found["apiserver_cpu_s"]),
        etcd_cpu_s=_cost(found["etcd_cpu_s"]),
        overhead_s=_overhead_s(measured, storm),
        sustained_per_s=round(restarts / storm.seconds, 2) if _saturated(facts) else None,
        intervals={name: bounds for name, each in found.items() if (bounds := _bounds(each)) is not None},
    )


def _bounds(found: SliResult) -> tuple[float, float] | None:
    """The interval, without costs below zero; None if it is unknown."""
    bounds = None if found.interval is None else found.interval.bounds
    return None if bounds is None else (round(max(0.0, bounds[0]), 4), round(max(0.0, bounds[1]), 4))


def _saturated(facts: Mapping[str, float]) -> bool:
    return facts.get("cpu_busy_share", 0.0) >= BUSY and facts.get("cluster_cpu_share", 0.0) >= OWN


def _cpu(component: str, idle: str | None) -> RatioSli:
    where: dict[str, tuple[str, ...]] = {"component": (component,)}
    return RatioSli(source="processes", metric=CPU, where=where, per="restarts", idle=idle)


def _cost(found: SliResult) -> float:
    if found.value is None:
        raise ObservationError("no restart was seen in the phase, so the cost of one is unknown.")
    return round(max(0.0, found.value), 4)


def _overhead_s(measured: Measured, storm: Phase) -> float:
    found = [
        took_s
        for pod in measured.lifecycles
        for restart in pod.restarts
        if storm.from_ns <= restart.exited_ns < storm.to_ns
        for took_s in _beyond_s(restart)
    ]
    return round(max(0.0, fmean(found)), 3) if found else 0.0


def _beyond_s(restart: Restart) -> Iterator[float]:
    """From the exit to the next start, beyond the delay and its mean jitter."""
    if restart.due_s is not None and restart.started_ns is not None:
        yield (restart.started_ns - restart.exited_ns) / 1e9 - restart.due_s - most_late_s(restart.due_s) / 2
