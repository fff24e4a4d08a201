"""The backlog of a pod that answers requests: what was asked and has neither been answered nor given up. Pure."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from crashloop.slo.types import ServedPod

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
        requests += (rate - pod.rate_per_s) * overlap_ns((begin_ns, end_ns), (from_ns, to_ns)) / 1e9
    return requests


def overlap_ns(one: tuple[int, int], other: tuple[int, int]) -> int:
    """How long two intervals are together."""
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


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
