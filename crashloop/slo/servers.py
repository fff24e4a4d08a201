"""Figures of one pod that answers requests, in a window: its kills, its backlog, its throttling, its probes. Pure.

Kills and down time are ground truth (the runtime's events); backlog, outages and the latency of answers are what the clients
saw; throttling, CPU and the latency of probes are counters of the kubelet. The backlog is what was asked and has neither been
answered nor given up.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from crashloop.errors import ObservationError
from crashloop.history.stamps import overlap_ns
from crashloop.slo.estimates import least_samples, percentile_of
from crashloop.slo.increase import counted_cpu, find_growth
from crashloop.slo.measurements import Measured, Phase, ServedPod
from crashloop.slo.rows import Selection

DOWN_S = 5.0
"""Shorter interruptions cannot be seen from outside, between requests."""
HIGH_S = 20.0
"""A backlog is high if its requests are those of this long at the steady rate."""


class Backlog:
    """The backlog over time, as steps."""

    def __init__(self, pod: ServedPod) -> None:
        left = [*(t_ns for _, t_ns in pod.answered), *(t_ns for _, t_ns in pod.given_up)]
        times = np.asarray([*pod.intended_ns, *left], dtype=np.int64)
        steps = np.concatenate([np.ones(len(pod.intended_ns)), -np.ones(len(left))])
        order = np.argsort(times, kind="stable")
        self.times_ns: NDArray[np.int64] = times[order]
        self.requests: NDArray[np.float64] = np.cumsum(steps[order])
        """After each of the times."""

    def at(self, t_ns: int) -> float:
        """Requests at a time."""
        place = int(np.searchsorted(self.times_ns, t_ns, "right"))
        return float(self.requests[place - 1]) if place else 0.0

    def highest(self, from_ns: int, to_ns: int) -> float:
        inside = self.requests[(self.times_ns >= from_ns) & (self.times_ns < to_ns)]
        return float(inside.max(initial=0.0))


def recovered_ns(pod: ServedPod, to_ns: int) -> int | None:
    """When the backlog of the bursts was gone for good: about one second's requests, and not high again; None if never."""
    backlog, begin_ns = Backlog(pod), last_burst_ns(pod)
    inside = (backlog.times_ns >= begin_ns) & (backlog.times_ns < to_ns)
    times, requests = backlog.times_ns[inside], backlog.requests[inside]
    high = np.flatnonzero(requests > HIGH_S * pod.rate_per_s)
    after = int(high[-1]) + 1 if len(high) else 0
    low = np.flatnonzero(requests[after:] <= pod.rate_per_s + 3)
    return int(times[after + low[0]]) if len(low) else None


def last_burst_ns(pod: ServedPod) -> int:
    """End of the last burst of more demand; without one, begin of the demand."""
    return max((to_ns for _, to_ns, rate in pod.bursts if rate > pod.rate_per_s), default=pod.began_ns)


def expected(pod: ServedPod, from_ns: int, to_ns: int) -> float:
    """Requests by the rate in an interval."""
    requests = pod.rate_per_s * (to_ns - from_ns) / 1e9
    for begin_ns, end_ns, rate in pod.bursts:
        requests += (rate - pod.rate_per_s) * overlap_ns([(begin_ns, end_ns)], from_ns, to_ns) / 1e9
    return requests


def outages_ns(pod: ServedPod) -> Iterator[tuple[int, int]]:
    """Intervals in which requests waited and none was answered, as clients see them; short ones are left out."""
    backlog = Backlog(pod)
    answers = [t_ns for _, t_ns in pod.answered]
    for last_ns, next_ns in zip([pod.began_ns, *answers], [*answers, pod.ended_ns], strict=True):
        begin_ns = last_ns
        if backlog.at(last_ns) <= 0:
            place = int(np.searchsorted(backlog.times_ns, last_ns, "right"))
            begin_ns = int(backlog.times_ns[place]) if place < len(backlog.times_ns) else next_ns
        if next_ns - begin_ns >= DOWN_S * 1e9:
            yield begin_ns, next_ns


_WHOLE_POD: dict[str, tuple[str, ...]] = {"container": ("",)}
"""The label of cAdvisor's series of a pod's own cgroup, which stays when its container is restarted."""
PERIODS = Selection(metric="container_cpu_cfs_periods_total", source="cadvisor", where=_WHOLE_POD)
THROTTLED = Selection(metric="container_cpu_cfs_throttled_periods_total", source="cadvisor", where=_WHOLE_POD)
CPU = Selection(metric="pod_cpu_usage_seconds_total", source="resource")
_PROBE_COUNT = Selection(metric="prober_probe_duration_seconds_count", source="probes")
_PROBE_SECONDS = Selection(metric="prober_probe_duration_seconds_sum", source="probes")
LEAST_USED = 0.5
"""Share of a limit; counters of CPU are up to 15 s old."""
BOOT_S = 20.0
"""A start is throttled too, and cAdvisor looks every 10 s."""


class ServerValue(NamedTuple):
    """A figure, and of how many samples."""

    value: float
    samples: int = 1
    is_least: bool = False
    """Whether it is only known to be that or more."""


class ServerFigure(NamedTuple):
    """A kind of figure."""

    of: str
    """What its samples are, in plural."""
    of_pod: Callable[[ServedPod, Measured, Phase], ServerValue]


def _kills(pod: ServedPod, _: Measured, window: Phase) -> ServerValue:
    return ServerValue(float(len(kills_in(pod, window))))


def _down_share(pod: ServedPod, _: Measured, window: Phase) -> ServerValue:
    down_ns = sum(to_ns - from_ns for from_ns, to_ns in downs_in(pod, window))
    return ServerValue(100 * down_ns / (window.to_ns - max(window.from_ns, pod.began_ns)))


def _unrecovered(pod: ServedPod, _: Measured, window: Phase) -> ServerValue:
    _burst_end_ns(pod, window)
    return ServerValue(float(recovered_ns(pod, window.to_ns) is None))


def _recovery(pod: ServedPod, _: Measured, window: Phase) -> ServerValue:
    """Of a pod that did not recover, the time until the end of the window."""
    from_ns, at_ns = _burst_end_ns(pod, window), recovered_ns(pod, window.to_ns)
    return ServerValue(((window.to_ns if at_ns is None else at_ns) - from_ns) / 1e9)


def _burst_end_ns(pod: ServedPod, window: Phase) -> int:
    """Raises ObservationError if the window was over before: it shows nothing of a recovery."""
    end_ns = last_burst_ns(pod)
    if end_ns >= window.to_ns:
        raise ObservationError(f"{pod.pod} was still in a burst of demand at the end.")
    return end_ns


def _highest_backlog(pod: ServedPod, _: Measured, window: Phase) -> ServerValue:
    return ServerValue(Backlog(pod).highest(window.from_ns, window.to_ns), len(pod.intended_ns))


def _last_backlog(pod: ServedPod, _: Measured, window: Phase) -> ServerValue:
    return ServerValue(Backlog(pod).at(window.to_ns), len(pod.intended_ns))


def _growth_while_down(pod: ServedPod, _: Measured, window: Phase) -> ServerValue:
    """Growth of the backlog while the container was down, divided by the demand of that time; samples are requests."""
    backlog, downs = Backlog(pod), _long_downs(pod, window)
    demand = sum(expected(pod, *down) for down in downs)
    if demand <= 0:
        raise ObservationError(f"{pod.pod} was never down for {DOWN_S:g} s.")
    grown = sum(backlog.at(to_ns - 1) - backlog.at(from_ns) for from_ns, to_ns in downs)
    return ServerValue(grown / demand, round(demand))


def _seen_down(pod: ServedPod, _: Measured, window: Phase) -> ServerValue:
    """Share of the down time that clients see as an outage; samples are interruptions."""
    downs, outages = _long_downs(pod, window), list(outages_ns(pod))
    down_ns = sum(to_ns - from_ns for from_ns, to_ns in downs)
    if not down_ns:
        raise ObservationError(f"{pod.pod} was never down for {DOWN_S:g} s.")
    return ServerValue(100 * sum(overlap_ns(outages, *down) for down in downs) / down_ns, len(downs))


def _throttled_in_bursts(pod: ServedPod, measured: Measured, _: Phase) -> ServerValue:
    """A pod that got far less CPU than its limit was short of CPU, and not throttled."""
    bursts = [(from_ns, to_ns) for from_ns, to_ns, rate in pod.bursts if rate > pod.rate_per_s]
    used_s = sum(grown(measured, pod, CPU, *burst) for burst in bursts)
    allowed_s = sum(to_ns - from_ns for from_ns, to_ns in bursts) / 1e9 * (pod.cpu_limit or 0.0)
    if used_s < LEAST_USED * allowed_s:
        raise ObservationError(
            f"{pod.pod} used {used_s:.1f} s of CPU in bursts, of {allowed_s:.1f} s that its limit allows."
        )
    return _throttled_share(pod, measured, bursts)


def _throttled_before_bursts(pod: ServedPod, measured: Measured, window: Phase) -> ServerValue:
    first_ns = min((from_ns for from_ns, _, _ in pod.bursts), default=window.to_ns)
    return _throttled_share(pod, measured, [(pod.began_ns + round(BOOT_S * 1e9), first_ns)])


def _throttled(pod: ServedPod, measured: Measured, window: Phase) -> ServerValue:
    return _throttled_share(pod, measured, [(window.from_ns, window.to_ns)])


def _throttled_share(pod: ServedPod, measured: Measured, spans: Iterable[tuple[int, int]]) -> ServerValue:
    """In percent of the periods in which the pod used its CPU; 0 for one without a limit, which has no periods."""
    periods = throttled = 0.0
    for from_ns, to_ns in spans:
        periods += grown(measured, pod, PERIODS, from_ns, to_ns)
        throttled += grown(measured, pod, THROTTLED, from_ns, to_ns)
    return ServerValue(100 * throttled / periods if periods else 0.0, round(periods))


def _answer_latency(percentile: float, pod: ServedPod, _: Measured, window: Phase) -> ServerValue:
    """From the moment at which a request was intended.

    One that was never answered counts as later than every answer. If the percentile falls on such requests, they count with the
    time until they were given up, and it may be more.
    """
    answered, given_up = (
        [(t_ns - from_ns) / 1e9 for from_ns, t_ns in each if window.from_ns <= from_ns < window.to_ns]
        for each in (pod.answered, pod.given_up)
    )
    requests = len(answered) + len(given_up)
    if requests < least_samples(percentile):
        raise ObservationError(
            f"{pod.pod} was sent {requests} requests, and a p{percentile:g} needs {least_samples(percentile)}."
        )
    value = percentile_of([*answered, *([math.inf] * len(given_up))], percentile)
    if math.isfinite(value):
        return ServerValue(value, requests)
    return ServerValue(percentile_of([*answered, *given_up], percentile), requests, is_least=True)


def _answer_share(pod: ServedPod, measured: Measured, window: Phase) -> ServerValue:
    """In percent of the requests that all pods of its Service answered; these are the samples."""
    if not pod.service:
        raise ObservationError(f"{pod.pod} shares no requests with others.")
    mine, everyone = (
        sum(1 for each in pods for _, t_ns in each.answered if window.from_ns <= t_ns < window.to_ns)
        for pods in ((pod,), [each for each in measured.served if each.service == pod.service])
    )
    if not everyone:
        raise ObservationError(f"Service {pod.service} answered no request.")
    return ServerValue(100 * mine / everyone, everyone)


def _cpu(pod: ServedPod, measured: Measured, window: Phase) -> ServerValue:
    """By the times of the kubelet's values; in recordings without them, by those of the scrapes."""
    counted = counted_cpu(measured.scrapes, of_pod(CPU, pod))
    begin_s, end_s = (limit_ns / 1e9 for limit_ns in _ends_of(window))
    if counted is not None:
        begin_s, end_s = max(begin_s, counted.first_s), min(end_s, counted.last_s)
    if counted is None or begin_s >= end_s:
        return ServerValue(grown(measured, pod, CPU, *_ends_of(window)) / window.seconds)
    # A pod whose container is down has no values, and uses nothing.
    down_s = overlap_ns(downs_in(pod, window), round(end_s * 1e9), window.to_ns) / 1e9
    return ServerValue((counted.used_s(end_s) - counted.used_s(begin_s)) / (end_s - begin_s + down_s))


def _cpu_of_free(pod: ServedPod, measured: Measured, window: Phase) -> ServerValue:
    """Share of the host's CPU that the pod used, of what nobody else did."""
    used_s = _cpu(pod, measured, window).value * window.seconds
    idle = Selection(metric="host_cpu_seconds_total", source="processes", where={"mode": ("idle",)})
    idle_s = sum(each.total for each in find_growth(measured, idle, *_ends_of(window)))
    return ServerValue(100 * used_s / (used_s + idle_s) if used_s else 0.0)


def _probe_latency(pod: ServedPod, measured: Measured, window: Phase) -> ServerValue:
    """Mean of the probes that succeeded, by the kubelet; samples are probes."""
    probes = grown(measured, pod, _PROBE_COUNT, *_ends_of(window))
    if not probes:
        raise ObservationError(f"no probe of {pod.pod} succeeded.")
    return ServerValue(grown(measured, pod, _PROBE_SECONDS, *_ends_of(window)) / probes, round(probes))


def grown(measured: Measured, pod: ServedPod, counter: Selection, from_ns: int, to_ns: int) -> float:
    """Growth of a counter of the pod."""
    return sum(each.total for each in find_growth(measured, of_pod(counter, pod), from_ns, to_ns))


def of_pod(counter: Selection, pod: ServedPod) -> Selection:
    """The series of a counter that are the pod's."""
    return msgspec.structs.replace(counter, where={**counter.where, "pod": (pod.pod,)})


def kills_in(pod: ServedPod, window: Phase) -> list[int]:
    """When its container was killed in a window."""
    return [from_ns for from_ns, _ in pod.downs_ns if window.from_ns <= from_ns < window.to_ns]


def downs_in(pod: ServedPod, window: Phase) -> list[tuple[int, int]]:
    """When its container was down in a window, from the begin of its demand on."""
    begin_ns = max(window.from_ns, pod.began_ns)
    clipped = ((max(begin_ns, from_ns), min(window.to_ns, to_ns)) for from_ns, to_ns in pod.downs_ns)
    return [(from_ns, to_ns) for from_ns, to_ns in clipped if from_ns < to_ns]


def _long_downs(pod: ServedPod, window: Phase) -> list[tuple[int, int]]:
    """Interruptions within the window that are not short."""
    return [(from_ns, to_ns) for from_ns, to_ns in downs_in(pod, window) if to_ns - from_ns >= DOWN_S * 1e9]


def _ends_of(window: Phase) -> tuple[int, int]:
    return window.from_ns, window.to_ns


SERVER_FIGURES: Mapping[str, ServerFigure] = {
    "kills": ServerFigure("servers", _kills),
    "down-share": ServerFigure("servers", _down_share),
    "unrecovered": ServerFigure("servers", _unrecovered),
    "recovery": ServerFigure("servers", _recovery),
    "highest-backlog": ServerFigure("requests", _highest_backlog),
    "last-backlog": ServerFigure("requests", _last_backlog),
    "growth-while-down": ServerFigure("requests", _growth_while_down),
    "seen-down": ServerFigure("interruptions", _seen_down),
    "throttled": ServerFigure("periods", _throttled),
    "throttled-in-bursts": ServerFigure("periods", _throttled_in_bursts),
    "throttled-before-bursts": ServerFigure("periods", _throttled_before_bursts),
    "answer-share": ServerFigure("requests", _answer_share),
    "answer-latency-p50": ServerFigure("requests", partial(_answer_latency, 50)),
    "answer-latency-p99": ServerFigure("requests", partial(_answer_latency, 99)),
    "cpu": ServerFigure("servers", _cpu),
    "cpu-of-free": ServerFigure("servers", _cpu_of_free),
    "probe-latency": ServerFigure("probes", _probe_latency),
}
"""By name. Shares are in percent, latencies in seconds; unrecovered is 1 for a server whose backlog stays."""
