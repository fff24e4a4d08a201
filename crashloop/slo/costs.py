"""What one restart cost in a stress run, for predictions: growth of counters per restart, less what a node takes at rest."""

from crashloop.errors import ObservationError
from crashloop.predict.costs import Costs
from crashloop.slo.facts import facts_of
from crashloop.slo.ratio import ratio
from crashloop.slo.rows import RatioSli
from crashloop.slo.types import Measured, Phase, SliResult

_WRITES = ("POST", "PUT", "PATCH", "DELETE")


def costs_of(measured: Measured, storm: Phase, *, source: str, idle: str | None = "baseline") -> Costs:
    """The costs of one restart in a phase. `idle` names the phase without load; None: nothing is taken off.

    Raises ObservationError where scrapes, restarts or that phase are missing. Costs below zero, which noise makes of small
    ones, count as zero.
    """
    cpu = {
        component: _per_restart(
            RatioSli(
                source="processes",
                metric="component_cpu_seconds_total",
                where={"component": (component,)},
                per="restarts",
                idle=idle,
            ),
            measured,
            storm,
        )
        for component in ("kubelet", "runtime", "apiserver", "etcd")
    }
    requests = RatioSli(source="kubelet", metric="rest_client_requests_total", per="restarts", idle=idle)
    writes = RatioSli(
        source="kubelet", metric="rest_client_requests_total", where={"method": _WRITES}, per="restarts", idle=idle
    )
    restarts = ratio(requests, measured, storm).samples
    cores = facts_of(measured, storm).get("cores")
    if cores is None:
        raise ObservationError("the number of cores is not known: machine_cpu_cores was not scraped.")
    return Costs(
        source=source,
        cores=cores,
        restarts=restarts,
        api_requests=_value(ratio(requests, measured, storm)),
        api_writes=_value(ratio(writes, measured, storm)),
        kubelet_cpu_s=cpu["kubelet"],
        runtime_cpu_s=cpu["runtime"],
        apiserver_cpu_s=cpu["apiserver"],
        etcd_cpu_s=cpu["etcd"],
        sustained_per_s=restarts / storm.seconds
        if facts_of(measured, storm).get("cpu_busy_share", 0.0) > BUSY
        else None,
    )


BUSY = 0.9
"""From this share of the host's CPU on, what came is taken for the most that it can do."""


def _per_restart(sli: RatioSli, measured: Measured, storm: Phase) -> float:
    return _value(ratio(sli, measured, storm))


def _value(result: SliResult) -> float:
    if result.value is None:
        raise ObservationError("no restart was seen in the phase: nothing tells what one costs.")
    return round(max(0.0, result.value), 4)
