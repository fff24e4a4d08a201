"""The cost of one restart in a stress run, for predictions: growth of counters per restart, minus the baseline's."""

from collections.abc import Iterator, Mapping
from statistics import fmean

from crashloop.errors import ObservationError
from crashloop.model.restart_counts import most_late_s
from crashloop.predict.costs import Costs
from crashloop.slo.measurements import Measured, Phase, Restart, SliResult
from crashloop.slo.metrics import ratio
from crashloop.slo.preconditions import facts_of
from crashloop.slo.rows import RatioSli

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
