"""The figures of one stage: the load, the resources it used, and the latencies under it. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from crashloop.errors import ObservationError
from crashloop.slo.estimates import percentile_of
from crashloop.slo.events import SAMPLES, Counted, counted, in_groups
from crashloop.slo.increase import UnknownMetric
from crashloop.slo.measurements import Lifecycle, Measured, Phase, SliResult
from crashloop.slo.metrics import ratio
from crashloop.slo.preconditions import FACTS
from crashloop.slo.rows import RatioSli
from crashloop.slo.scrapes import Scrapes
from crashloop.stress.metric_series import highest, labelled, per_second, restart_times_ns, rounded, within

COMPONENTS = ("kubelet", "runtime", "apiserver", "etcd", "harness")
COSTED = ("kubelet", "runtime", "apiserver")
"""Components whose CPU is also counted per restart."""
MIN_RESTARTS = 20
"""Fewer restarts share the cost of an idle component among too few."""
HEALTHY = ("healthy",)
CRASHING = ("crasher",)
REQUESTS_PER_RESTART = RatioSli(metric="rest_client_requests_total", per="restarts")


def figures(
    phase: Phase,
    scrapes: Sequence[Scrapes],
    lifecycles: Sequence[Lifecycle],
    targets: Mapping[str, float],
    *,
    node: str | None = None,
) -> dict[str, float | None]:
    """Figures of a window, by name with the unit in it; of all nodes, or with `node` of one node's pods and processes.

    `targets` are those of the rows on single events, in seconds (crashloop.stress.rows.sample_targets): an open event counts
    with its duration so far from its target on. Without open events the slowest ones would vanish.
    """
    from_ns, to_ns = phase.from_ns, phase.to_ns
    pods = [pod for pod in lifecycles if node in (None, pod.node)]
    restarts = within(restart_times_ns(pods), from_ns, to_ns)
    of_node = [each for each in scrapes if node in (None, each.source.node)]
    requests = per_second(of_node, "kubelet", "rest_client_requests_total", from_ns, to_ns)
    found: dict[str, float | None] = {
        "restarts_per_s": restarts / phase.seconds,
        "kubelet_requests_per_s": requests,
        "apiserver_requests_per_s": per_second(scrapes, "apiserver", "apiserver_request_total", from_ns, to_ns),
    }
    for component in COMPONENTS:
        wanted = {"component": component} | ({"node": node} if node and component in ("kubelet", "runtime") else {})
        selects = labelled(**wanted)
        cores = per_second(scrapes, "processes", "component_cpu_seconds_total", from_ns, to_ns, selects)
        found[f"{component}_cpu_cores"] = cores
        if component in COSTED:
            found[f"{component}_cpu_s_per_restart"] = _per_restart(cores, restarts, phase)
        memory = highest(scrapes, "processes", "component_resident_memory_bytes", from_ns, to_ns, selects)
        found[f"{component}_memory_mib"] = None if memory is None else memory / 2**20
    found["requests_per_restart"] = per_restart(phase, of_node, pods).value
    host = _measured(phase, scrapes)
    found["host_busy_share"] = FACTS["cpu_busy_share"].find(host, phase)
    found["foreign_cpu_share"] = FACTS["foreign_cpu_share"].find(host, phase)
    found["harness_share"] = FACTS["harness_cpu_share"].find(host, phase)
    found |= _percentiles("startup", "pod-startup", in_groups(pods, HEALTHY), phase, targets)
    found |= _percentiles("lateness", "restart-lateness", in_groups(pods, CRASHING), phase, targets)
    return rounded(found)


def per_restart(phase: Phase, scrapes: Sequence[Scrapes], lifecycles: Sequence[Lifecycle]) -> SliResult:
    """API requests of the kubelets per restart, idle requests included; no value without restarts."""
    try:
        return ratio(REQUESTS_PER_RESTART, _measured(phase, scrapes, lifecycles), phase)
    except (ObservationError, UnknownMetric):
        return SliResult(value=None)


def _measured(phase: Phase, scrapes: Sequence[Scrapes], lifecycles: Sequence[Lifecycle] = ()) -> Measured:
    return Measured(phases=(phase,), scrapes=tuple(scrapes), lifecycles=tuple(lifecycles))


def _per_restart(cores: float | None, restarts: int, phase: Phase) -> float | None:
    """CPU seconds per restart, those of the idle component included."""
    return None if cores is None or restarts < MIN_RESTARTS else cores * phase.seconds / restarts


def samples_of(kind: str, pods: Iterable[Lifecycle], phase: Phase, targets: Mapping[str, float]) -> tuple[float, ...]:
    """Their values alone."""
    return counted_of(kind, pods, phase, targets).values


def counted_of(kind: str, pods: Iterable[Lifecycle], phase: Phase, targets: Mapping[str, float]) -> Counted:
    """Single events that began in a window; overdue ones count with their duration when last seen."""
    return counted(SAMPLES[kind], pods, phase, lambda value: value <= targets[kind])


def _percentiles(
    name: str, kind: str, pods: Iterable[Lifecycle], phase: Phase, targets: Mapping[str, float]
) -> dict[str, float | None]:
    """Percentiles, the number of events, and the number of open events, counted or not."""
    found = counted_of(kind, pods, phase, targets)
    return {
        f"{name}_samples": float(len(found.values)),
        f"{name}_open": float(found.overdue + found.pending),
        f"{name}_p50_s": percentile_of(found.values, 50) if found.values else None,
        f"{name}_p99_s": percentile_of(found.values, 99) if found.values else None,
    }
