"""What clients and kubelet saw of every server over time: backlog, answers, throttling and CPU. Pure.

Times are seconds since the load began.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from crashloop.report.stress.results import Point, Series
from crashloop.slo.increase import counted_cpu, growths, window_of
from crashloop.slo.measurements import ServedPod
from crashloop.slo.rows import Selection
from crashloop.slo.scrapes import Scrapes
from crashloop.slo.servers import CPU, PERIODS, THROTTLED, Backlog, of_pod
from crashloop.stress.timeline import BIN_S, MAX_POINTS, points_of

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
            ("answers", "requests/s"): _answers(pod, edges, began_ns),
            ("backlog", "requests"): _backlog(pod, edges, began_ns),
            ("throttled", "%"): _shares(pod, scrapes, began_ns),
            ("server CPU", "cores"): _rates(pod, scrapes, began_ns),
        }
        for (name, unit), points in lines.items():
            if points:
                yield Series(name=name, node=pod.load, unit=unit, points=points)


def _answers(pod: ServedPod, edges: NDArray[np.float64], began_ns: int) -> tuple[Point, ...]:
    if len(edges) < 2:
        return ()
    width_s = float(edges[1] - edges[0])
    counts, _ = np.histogram([(t_ns - began_ns) / 1e9 for _, t_ns in pod.answered], edges)
    return points_of(edges[:-1] + width_s / 2, counts / width_s)


def _backlog(pod: ServedPod, edges: NDArray[np.float64], began_ns: int) -> tuple[Point, ...]:
    backlog = Backlog(pod)
    return points_of(edges, np.asarray([backlog.at(began_ns + round(1e9 * float(at_s))) for at_s in edges]))


def _shares(pod: ServedPod, scrapes: Iterable[Scrapes], began_ns: int) -> tuple[Point, ...]:
    """Of the periods in which it used CPU, in percent: 0 where it used none; nothing for a server that has no periods."""
    times, periods = _grown(pod, scrapes, PERIODS)
    _, throttled = _grown(pod, scrapes, THROTTLED)
    if not periods.any():
        return ()
    times_s = (times - began_ns) / 1e9
    steps = ((begin, end, periods[begin:end].sum(), throttled[begin:end].sum()) for begin, end in moves(times, periods))
    return _level(
        (times_s[begin], times_s[end], 100 * bad / every if every else 0.0) for begin, end, every, bad in steps
    )


def _rates(pod: ServedPod, scrapes: Sequence[Scrapes], began_ns: int) -> tuple[Point, ...]:
    """Between the times of the kubelet's values; between scrapes in a recording without those times."""
    counted = counted_cpu(scrapes, of_pod(CPU, pod))
    if counted is None:
        return _rates_by_scrapes(pod, scrapes, began_ns)
    in_demand = (counted.times_s >= pod.began_ns / 1e9) & (counted.times_s <= pod.ended_ns / 1e9)
    times_s, values_s = counted.times_s[in_demand] - began_ns / 1e9, counted.values_s[in_demand]
    return _level(zip(times_s[:-1], times_s[1:], np.diff(values_s) / np.diff(times_s), strict=True))


def _rates_by_scrapes(pod: ServedPod, scrapes: Iterable[Scrapes], began_ns: int) -> tuple[Point, ...]:
    times, used = _grown(pod, scrapes, CPU)
    if not used.any():
        return ()
    times_s = (times - began_ns) / 1e9
    return _level(
        (times_s[begin], times_s[end], used[begin:end].sum() / (times_s[end] - times_s[begin]))
        for begin, end in moves(times, used)
    )


def _grown(
    pod: ServedPod, scrapes: Iterable[Scrapes], counter: Selection
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Scrapes of the node with the pod, and how much the counter grew between every two; none if no scrape has it."""
    selects = of_pod(counter, pod).selects
    for each in scrapes:
        window = window_of(each, pod.began_ns, pod.ended_ns) if each.source.source == counter.source else None
        found = list(growths(each, counter.metric, window, selects)) if window is not None else []
        if window is not None and found:
            times = np.asarray(each.t_ns[window.first : window.last + 1], dtype=np.int64)
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


def _level(spans: Iterable[tuple[float, float, float]]) -> tuple[Point, ...]:
    """A line that is level from a time to another."""
    points = [(at_s, float(value)) for from_s, to_s, value in spans for at_s in (from_s, to_s)]
    return points_of(np.asarray([at_s for at_s, _ in points]), np.asarray([value for _, value in points]))
