"""The figures of one stage: the load, the resources it used, and the latencies under it, from scrapes and lifecycles. Pure.

Intervals (95 %) of the key figures are by what varies within the stage (crashloop.slo.estimates), by the names of figures.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from crashloop.errors import ObservationError
from crashloop.slo.estimates import (
    Steps,
    block_of,
    blocks_in,
    percentile_interval,
    percentile_of,
    rate_interval,
    ratio_interval,
    sums_in_blocks,
)
from crashloop.slo.events import SAMPLES, Counted, counted, in_groups
from crashloop.slo.increase import UnknownMetric, growths, times_in, window_of
from crashloop.slo.measurements import Interval, Lifecycle, Measured, Phase, SliResult
from crashloop.slo.metrics import ratio
from crashloop.slo.preconditions import FACTS
from crashloop.slo.rows import RatioSli
from crashloop.slo.scrapes import Labels, Scrapes

Selector = Callable[[Labels], bool]


def per_second(
    scrapes: Iterable[Scrapes], source: str, metric: str, from_ns: int, to_ns: int, selects: Selector = lambda _: True
) -> float | None:
    """Growth per second of a counter, over all nodes; None if no scrape has it."""
    rates = []
    for each in scrapes:
        window = window_of(each, from_ns, to_ns) if each.source.source == source else None
        if window is not None and window.seconds > 0:
            rates += [growth.total / window.seconds for growth in growths(each, metric, window, selects)]
    return sum(rates) if rates else None


def highest(
    scrapes: Iterable[Scrapes], source: str, metric: str, from_ns: int, to_ns: int, selects: Selector = lambda _: True
) -> float | None:
    """The highest value of a gauge in a window; None without a value."""
    found = [
        float(value)
        for each in scrapes
        if each.source.source == source
        for series in each.series
        if series.name == metric and selects(series.labels)
        for value in series.values[(series.t_ns >= from_ns) & (series.t_ns <= to_ns)]
    ]
    return max(found, default=None)


def along(
    scrapes: Scrapes, metric: str, selects: Selector = lambda _: True
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Growth per second of a counter from scrape to scrape: end of the step (UTC ns), and its rate.

    A scrape less than half an interval after the one before is merged with it, so that a late scrape makes no peak.
    """
    times = np.asarray(scrapes.t_ns, dtype=np.int64)
    window = window_of(scrapes, int(times[0]), int(times[-1])) if len(times) > 1 else None
    if window is None:
        return times[:0], np.zeros(0)
    steps = np.zeros(len(times) - 1)
    for growth in growths(scrapes, metric, window, selects):
        steps += growth.steps
    ends = _far_enough_apart(times, scrapes.source.interval_s / 2 * 1e9)
    if len(ends) < 2:
        return times[:0], np.zeros(0)
    grown = np.diff(np.concatenate(([0.0], np.cumsum(steps)))[ends])
    return times[ends][1:], grown / (np.diff(times[ends]) / 1e9)


def _far_enough_apart(times: NDArray[np.int64], least_ns: float) -> NDArray[np.int64]:
    """Indices of the first time and of times at that least distance from the one before."""
    kept = [0]
    for index in range(1, len(times)):
        if times[index] - times[kept[-1]] >= least_ns:
            kept.append(index)
    return np.asarray(kept, dtype=np.int64)


def labelled(**wanted: str) -> Selector:
    """Series with these labels."""
    return lambda labels: all(labels.get(name) == value for name, value in wanted.items())


def restart_times_ns(lifecycles: Iterable[Lifecycle], node: str | None = None) -> NDArray[np.int64]:
    """When containers restarted, by ground truth, in order; of all nodes, or of one."""
    times = [
        each.running_ns
        for pod in lifecycles
        if node in (None, pod.node)
        for each in pod.restarts
        if each.running_ns is not None
    ]
    return np.sort(np.asarray(times, dtype=np.int64))


def within(times: NDArray[np.int64], from_ns: int, to_ns: int) -> int:
    """Number of the times within a window."""
    return int(np.searchsorted(times, to_ns) - np.searchsorted(times, from_ns))


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

    `targets` are those of the rows on single events, in seconds (crashloop.stress.requirements.sample_targets). An open event
    counts with its duration so far from its target on: without open events the slowest ones would vanish.
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
            found[f"{component}_cpu_s_per_restart"] = _cpu_s_per_restart(cores, restarts, phase)
        memory = highest(scrapes, "processes", "component_resident_memory_bytes", from_ns, to_ns, selects)
        found[f"{component}_memory_mib"] = None if memory is None else memory / 2**20
    found["requests_per_restart"] = per_restart(phase, of_node, pods).value
    host = _measured_in(phase, scrapes)
    found["host_busy_share"] = FACTS["cpu_busy_share"].find(host, phase)
    found["foreign_cpu_share"] = FACTS["foreign_cpu_share"].find(host, phase)
    found["harness_share"] = FACTS["harness_cpu_share"].find(host, phase)
    found |= _percentile_figures("startup", "pod-startup", in_groups(pods, HEALTHY), phase, targets)
    found |= _percentile_figures("lateness", "restart-lateness", in_groups(pods, CRASHING), phase, targets)
    return {name: None if value is None else round(value, 6) for name, value in found.items()}


def per_restart(phase: Phase, scrapes: Sequence[Scrapes], lifecycles: Sequence[Lifecycle]) -> SliResult:
    """API requests of the kubelets per restart, idle requests included; no value without restarts."""
    try:
        return ratio(REQUESTS_PER_RESTART, _measured_in(phase, scrapes, lifecycles), phase)
    except (ObservationError, UnknownMetric):
        return SliResult(value=None)


def _measured_in(phase: Phase, scrapes: Sequence[Scrapes], lifecycles: Sequence[Lifecycle] = ()) -> Measured:
    return Measured(phases=(phase,), scrapes=tuple(scrapes), lifecycles=tuple(lifecycles))


def _cpu_s_per_restart(cores: float | None, restarts: int, phase: Phase) -> float | None:
    """CPU seconds per restart, those of the idle component included."""
    return None if cores is None or restarts < MIN_RESTARTS else cores * phase.seconds / restarts


def samples_of(kind: str, pods: Iterable[Lifecycle], phase: Phase, targets: Mapping[str, float]) -> tuple[float, ...]:
    """Their values alone."""
    return counted_of(kind, pods, phase, targets).values


def counted_of(kind: str, pods: Iterable[Lifecycle], phase: Phase, targets: Mapping[str, float]) -> Counted:
    """Single events that began in a window; overdue ones count with their duration when last seen."""
    return counted(SAMPLES[kind], pods, phase, lambda value: value <= targets[kind])


def _percentile_figures(
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


WITH_INTERVALS = ("kubelet", "runtime", "apiserver")
PERCENTILES_WITH_INTERVALS = (50, 99)


def intervals(
    phase: Phase, scrapes: Sequence[Scrapes], lifecycles: Sequence[Lifecycle], targets: Mapping[str, float]
) -> dict[str, Interval]:
    """Intervals of the figures of a window, without figures with too few samples; `targets` as in `figures`."""
    return {
        name: each
        for name, each in _intervals_found(phase, scrapes, lifecycles, targets)
        if each is not None and each.bounds is not None
    }


def _intervals_found(
    phase: Phase, scrapes: Sequence[Scrapes], lifecycles: Sequence[Lifecycle], targets: Mapping[str, float]
) -> Iterator[tuple[str, Interval | None]]:
    times = restart_times_ns(lifecycles)
    in_phase = times[(times >= phase.from_ns) & (times < phase.to_ns)]
    yield "restarts_per_s", rate_interval(in_phase, phase.from_ns, phase.to_ns)
    yield "requests_per_restart", per_restart(phase, scrapes, lifecycles).interval
    for component in WITH_INTERVALS:
        yield f"{component}_cpu_cores", _cores_interval(component, phase, scrapes)
    for name, kind, groups in (("startup", "pod-startup", HEALTHY), ("lateness", "restart-lateness", CRASHING)):
        found = counted_of(kind, in_groups(lifecycles, groups), phase, targets)
        for percentile in PERCENTILES_WITH_INTERVALS if found.values and blocks_in(phase.from_ns, phase.to_ns) else ():
            places = block_of(found.times_ns, phase.from_ns, phase.to_ns)
            yield f"{name}_p{percentile}_s", percentile_interval(found.values, places, percentile)[0]


def _cores_interval(component: str, phase: Phase, scrapes: Sequence[Scrapes]) -> Interval | None:
    """All processes of a component are read together, so one source covers all nodes."""
    for each in scrapes:
        window = window_of(each, phase.from_ns, phase.to_ns) if each.source.source == "processes" else None
        if window is None:
            continue
        found = list(growths(each, "component_cpu_seconds_total", window, labelled(component=component)))
        if not found:
            return None
        times = times_in(each, window)
        steps = np.sum([growth.steps for growth in found], axis=0)
        return ratio_interval(*sums_in_blocks([Steps(times, (steps, np.diff(times) / 1e9))]))
    return None
