"""The servers of a run with the requests to them, from the load's operations and the lives of their pods. Pure.

Over time: what clients and kubelet saw of every server: backlog, answers, throttling and CPU. Times are seconds since the load
began.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from crashloop.errors import ObservationError
from crashloop.report.stress.results import Point, Series, ServedResult
from crashloop.slo.increase import counted_cpu, growths, times_in, window_of
from crashloop.slo.measurements import Lifecycle, Measured, Phase, ServedPod
from crashloop.slo.rows import Selection
from crashloop.slo.scrapes import Scrapes
from crashloop.slo.servers import (
    CPU,
    PERIODS,
    SERVER_FIGURES,
    THROTTLED,
    Backlog,
    ServerValue,
    downs_in,
    kills_in,
    of_pod,
)
from crashloop.stress.assignment import Operation
from crashloop.stress.loads import AnyLoad, Demand, load_of
from crashloop.stress.phases import Measurement
from crashloop.stress.pods import arrivals_ns
from crashloop.stress.timeline import BIN_S, MAX_POINTS, points_of


def served_pods(
    loads: Mapping[str, AnyLoad], operations: Iterable[Operation], lifecycles: Iterable[Lifecycle]
) -> Iterator[ServedPod]:
    """One per server of which requests are known, in the order of the loads."""
    requests: defaultdict[tuple[str, str], list[Operation]] = defaultdict(list)
    first_ns: dict[str, int] = {}
    for each in operations:
        if each.what in ("request", "unanswered") and each.intended_ns is not None:
            # Of a shared Service a request may be answered by the pod of another load.
            requests[load_of(each.pod, tuple(loads)) or each.load, each.pod].append(each)
            service = getattr(loads[each.load], "service", None) or ""
            first_ns[service] = min(each.intended_ns, first_ns.get(service, each.intended_ns))
    lives = {pod.pod: pod for pod in lifecycles}
    for name, load in loads.items():
        if isinstance(load, Demand):
            for pod in sorted(pod for of, pod in requests if of == name):
                shared_ns = first_ns.get(load.service) if load.service else None
                yield _served_pod(name, load, pod, requests[name, pod], lives.get(pod), shared_ns)


def _served_pod(
    name: str,
    load: Demand,
    pod: str,
    requests: Sequence[Operation],
    life: Lifecycle | None,
    shared_ns: int | None = None,
) -> ServedPod:
    """`shared_ns`: the first request of a Service, which another pod may have answered."""
    intended = sorted(each.intended_ns or 0 for each in requests)
    answers = ((each.intended_ns or 0, each.sent_ns + each.took_ns) for each in requests if each.what == "request")
    answered = tuple(sorted(answers, key=lambda each: each[1]))
    unanswered = ((each.intended_ns or 0, each.sent_ns) for each in requests if each.what == "unanswered")
    given_up = tuple(sorted(unanswered, key=lambda each: each[1]))
    began_ns = (intended[0] if shared_ns is None else shared_ns) - next(arrivals_ns(load, 0))
    ended_ns = max([intended[-1], *(t_ns for _, t_ns in (*answered, *given_up))])
    return ServedPod(
        load=name,
        pod=pod,
        node=life.node if life else "",
        service=load.service or "",
        cpu_limit=load.limit_cores,
        rate_per_s=load.rate_per_s,
        bursts=tuple(
            (began_ns + round(1e9 * burst.after_s), began_ns + round(1e9 * burst.to_s), burst.rate_per_s)
            for burst in load.bursts
        ),
        began_ns=began_ns,
        ended_ns=ended_ns,
        intended_ns=tuple(intended),
        answered=answered,
        given_up=given_up,
        downs_ns=tuple(_downs_ns(life)) if life else (),
    )


def _downs_ns(life: Lifecycle) -> Iterator[tuple[int, int]]:
    until_ns = life.seen_until_ns
    for restart in life.restarts:
        to_ns = until_ns if restart.running_ns is None else restart.running_ns
        if to_ns is not None and to_ns > restart.exited_ns:
            yield restart.exited_ns, to_ns


def served_results(measured: Measured, stages: Iterable[Measurement], *, began_ns: int) -> Iterator[ServedResult]:
    """The figures of every server in every stage with demand for it."""
    for stage in stages:
        window = stage.phase
        for pod in measured.served:
            asked = sum(1 for t_ns in pod.intended_ns if window.from_ns <= t_ns < window.to_ns)
            if asked:
                found = {name: _figure_or_none(name, pod, measured, window) for name in SERVER_FIGURES}
                yield ServedResult(
                    load=pod.load,
                    stage=stage.stage.label,
                    requests=asked,
                    figures={name: None if each is None else round(each.value, 4) for name, each in found.items()},
                    cpu_limit=pod.cpu_limit,
                    kills_s=tuple(_seconds_since(t_ns, began_ns) for t_ns in kills_in(pod, window)),
                    downs_s=tuple(
                        (_seconds_since(from_ns, began_ns), _seconds_since(to_ns, began_ns))
                        for from_ns, to_ns in downs_in(pod, window)
                    ),
                    at_least=tuple(name for name, each in found.items() if each is not None and each.is_least),
                )


def _seconds_since(t_ns: int, began_ns: int) -> float:
    return round((t_ns - began_ns) / 1e9, 2)


def _figure_or_none(name: str, pod: ServedPod, measured: Measured, window: Phase) -> ServerValue | None:
    try:
        return SERVER_FIGURES[name].of_pod(pod, measured, window)
    except ObservationError:
        return None


OLD_S = 15.0
"""Counters of a pod's CPU are up to that old: one that stood still for longer was not used meanwhile."""


def served_series(
    pods: Iterable[ServedPod], scrapes: Sequence[Scrapes], *, began_ns: int, ended_ns: int
) -> Iterator[Series]:
    """The lines of every server, within the time of its demand; those without a value are left out."""
    width_s = max(BIN_S, (ended_ns - began_ns) / 1e9 / MAX_POINTS)
    every = np.arange(0.0, (ended_ns - began_ns) / 1e9 + width_s, width_s)
    for pod in pods:
        from_s, to_s = (pod.began_ns - began_ns) / 1e9, (pod.ended_ns - began_ns) / 1e9
        edges = every[(every > from_s - width_s) & (every < to_s + width_s)]
        lines = {
            ("answers", "requests/s"): _answer_points(pod, edges, began_ns),
            ("backlog", "requests"): _backlog_points(pod, edges, began_ns),
            ("throttled", "%"): _throttled_points(pod, scrapes, began_ns),
            ("server CPU", "cores"): _cpu_points(pod, scrapes, began_ns),
        }
        for (name, unit), points in lines.items():
            if points:
                yield Series(name=name, node=pod.load, unit=unit, points=points)


def _answer_points(pod: ServedPod, edges: NDArray[np.float64], began_ns: int) -> tuple[Point, ...]:
    if len(edges) < 2:
        return ()
    width_s = float(edges[1] - edges[0])
    counts, _ = np.histogram([(t_ns - began_ns) / 1e9 for _, t_ns in pod.answered], edges)
    return points_of(edges[:-1] + width_s / 2, counts / width_s)


def _backlog_points(pod: ServedPod, edges: NDArray[np.float64], began_ns: int) -> tuple[Point, ...]:
    backlog = Backlog(pod)
    return points_of(edges, np.asarray([backlog.at(began_ns + round(1e9 * float(at_s))) for at_s in edges]))


def _throttled_points(pod: ServedPod, scrapes: Iterable[Scrapes], began_ns: int) -> tuple[Point, ...]:
    """Of the periods in which it used CPU, in percent: 0 where it used none; nothing for a server that has no periods."""
    times, periods = _growth_by_scrape(pod, scrapes, PERIODS)
    _, throttled = _growth_by_scrape(pod, scrapes, THROTTLED)
    if not periods.any():
        return ()
    times_s = (times - began_ns) / 1e9
    steps = ((begin, end, periods[begin:end].sum(), throttled[begin:end].sum()) for begin, end in moves(times, periods))
    return _level_points(
        (times_s[begin], times_s[end], 100 * bad / every if every else 0.0) for begin, end, every, bad in steps
    )


def _cpu_points(pod: ServedPod, scrapes: Sequence[Scrapes], began_ns: int) -> tuple[Point, ...]:
    """Between the times of the kubelet's values; between scrapes in a recording without those times."""
    counted = counted_cpu(scrapes, of_pod(CPU, pod))
    if counted is None:
        return _cpu_points_by_scrapes(pod, scrapes, began_ns)
    in_demand = (counted.times_s >= pod.began_ns / 1e9) & (counted.times_s <= pod.ended_ns / 1e9)
    times_s, values_s = counted.times_s[in_demand] - began_ns / 1e9, counted.values_s[in_demand]
    return _level_points(zip(times_s[:-1], times_s[1:], np.diff(values_s) / np.diff(times_s), strict=True))


def _cpu_points_by_scrapes(pod: ServedPod, scrapes: Iterable[Scrapes], began_ns: int) -> tuple[Point, ...]:
    times, used = _growth_by_scrape(pod, scrapes, CPU)
    if not used.any():
        return ()
    times_s = (times - began_ns) / 1e9
    return _level_points(
        (times_s[begin], times_s[end], used[begin:end].sum() / (times_s[end] - times_s[begin]))
        for begin, end in moves(times, used)
    )


def _growth_by_scrape(
    pod: ServedPod, scrapes: Iterable[Scrapes], counter: Selection
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Scrapes of the node with the pod, and how much the counter grew between every two; none if no scrape has it."""
    selects = of_pod(counter, pod).selects
    for each in scrapes:
        window = window_of(each, pod.began_ns, pod.ended_ns) if each.source.source == counter.source else None
        found = list(growths(each, counter.metric, window, selects)) if window is not None else []
        if window is not None and found:
            times = times_in(each, window)
            return times, np.sum([growth.steps for growth in found], axis=0)
    return np.zeros(1, dtype=np.int64), np.zeros(0)


def moves(times: NDArray[np.int64], steps: NDArray[np.float64]) -> Iterator[tuple[int, int]]:
    """Pairs of scrapes between which a counter was brought up to date: the kubelet does so more rarely than it is scraped.

    Where it stood still for longer than it can be old, that time is a pair of its own.
    """
    begin = 0
    for before in np.flatnonzero(steps):
        end = int(before) + 1
        recent = int(np.searchsorted(times, times[end] - round(OLD_S * 1e9), "right")) - 1
        still = max(begin, min(int(before), recent))
        if still > begin:
            yield begin, still
        yield still, end
        begin = end
    if times[-1] - times[begin] > OLD_S * 1e9:
        yield begin, len(times) - 1


def _level_points(spans: Iterable[tuple[float, float, float]]) -> tuple[Point, ...]:
    """A line that is level from a time to another."""
    points = [(at_s, float(value)) for from_s, to_s, value in spans for at_s in (from_s, to_s)]
    return points_of(np.asarray([at_s for at_s, _ in points]), np.asarray([value for _, value in points]))
