"""The single events behind SLIs, taken from lifecycles, with their times.

Theory of operation. An event belongs to the window in which it *began*: pod created, container exited. An event that was
still open at the end of the observation counts too: without it the worst ones would vanish. If it was open for longer than
the target it is certainly bad; otherwise it is undecided, left out, and reported as left out.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crashloop.slo.measurements import Lifecycle, Measured, Phase

SECONDS = "seconds"
"""What a ratio may count instead of events."""
EARLY_S = 10.0
"""The window of KEP-4603's sums for the begin of a crash loop."""
WATCHED_S = 3.0
"""A kubelet that restarts wrongly does so at its next look: first restarts have no delay, and it relists once a second."""


class MeasuredEvent(NamedTuple):
    """One event: its time, and its value or a lower bound of it."""

    t_ns: int
    value: float | None
    at_least: float | None = None
    """Of an event that is still open."""


class Samples(NamedTuple):
    """A kind of event with a value."""

    of: str
    """Its name, in plural."""
    events: Callable[[Lifecycle], Iterator[MeasuredEvent]]


class Counted(NamedTuple):
    """The events of a kind that began in a window."""

    values: tuple[float, ...]
    times_ns: tuple[int, ...]
    """When each began."""
    overdue: int
    """Of these: still open, and already beyond the bound when last seen; that duration is their value."""
    pending: int
    """Left out: still open, and within the bound when last seen."""


class Share(NamedTuple):
    """A kind of event that is good or bad."""

    of: str
    events: Callable[[Lifecycle], Iterator[tuple[int, bool]]]
    """When, and whether it was bad."""
    of_time: bool = False
    """Whether a slow host can make it bad."""


class Count(NamedTuple):
    """A kind of event that is only counted."""

    of: str
    one: str
    times: Callable[[Lifecycle], Iterator[int]]


def times_of(kind: str, measured: Measured, node: str = "") -> NDArray[np.int64]:
    """When the events of a kind of COUNTS happened in the pods of a node, or of all nodes: UTC nanoseconds, pod by pod."""
    found = measured.found_ns.get((kind, node))
    if found is None:
        pods = (pod for pod in measured.lifecycles if node in ("", pod.node))
        times = [t_ns for pod in pods for t_ns in COUNTS[kind].times(pod)]
        found = measured.found_ns[kind, node] = np.asarray(times, dtype=np.int64)
    return found


def in_groups(lifecycles: Iterable[Lifecycle], groups: Sequence[str]) -> Iterator[Lifecycle]:
    """The pods of the load in these groups; all pods if no group is named."""
    return (each for each in lifecycles if not groups or each.group in groups)


def counted(kind: Samples, lifecycles: Iterable[Lifecycle], window: Phase, keeps: Callable[[float], bool]) -> Counted:
    """The events of a kind in a window; `keeps` says whether a value is within the bound."""
    values: list[float] = []
    times: list[int] = []
    overdue = pending = 0
    for pod in lifecycles:
        for event in kind.events(pod):
            if not window.from_ns <= event.t_ns < window.to_ns:
                continue
            value = event.value
            if value is None and event.at_least is not None and not keeps(event.at_least):
                value = event.at_least
                overdue += 1
            if value is None:
                pending += 1
                continue
            values.append(value)
            times.append(event.t_ns)
    return Counted(tuple(values), tuple(times), overdue, pending)


def _startup(pod: Lifecycle) -> Iterator[MeasuredEvent]:
    return _start(pod) if pod.stateless else iter(())


def _stateful_startup(pod: Lifecycle) -> Iterator[MeasuredEvent]:
    return iter(()) if pod.stateless else _start(pod)


def _start(pod: Lifecycle) -> Iterator[MeasuredEvent]:
    if pod.asked_ns is not None and not pod.has_init and not pod.may_pull:
        yield _event(pod.asked_ns, pod.started_ns, pod.seen_until_ns)


def _ready(pod: Lifecycle) -> Iterator[MeasuredEvent]:
    if pod.asked_ns is not None:
        yield _event(pod.asked_ns, pod.ready_ns, pod.seen_until_ns)


def _lateness(pod: Lifecycle) -> Iterator[MeasuredEvent]:
    for each in pod.restarts:
        if each.due_s is not None and not (each.created_ns is None and each.started_ns is not None):
            yield _event(each.exited_ns, each.created_ns, pod.seen_until_ns, less_s=each.due_s)


def _delay(pod: Lifecycle) -> Iterator[MeasuredEvent]:
    for each in pod.restarts:
        if each.created_ns is not None:
            yield _event(each.exited_ns, each.created_ns, None)


def _container_start(pod: Lifecycle) -> Iterator[MeasuredEvent]:
    for each in pod.restarts:
        if each.created_ns is not None:
            yield _event(each.created_ns, each.started_ns, pod.seen_until_ns)


def _early(pod: Lifecycle) -> Iterator[MeasuredEvent]:
    """The number of restarts of a pod within its first seconds, at their end."""
    first_ns = min((starts[0] for starts in pod.starts_ns.values() if starts), default=None)
    if first_ns is None:
        return
    end_ns = first_ns + round(EARLY_S * 1e9)
    if pod.seen_until_ns is not None and pod.seen_until_ns >= end_ns:
        yield MeasuredEvent(end_ns, float(sum(1 for came_ns in _restarts(pod) if came_ns < end_ns)))


def _first_of_all(pod: Lifecycle) -> Iterator[MeasuredEvent]:
    for each in pod.restarts_all:
        yield _event(each.exited_ns, each.started_ns, pod.seen_until_ns)


def _event(began_ns: int, ended_ns: int | None, seen_until_ns: int | None, *, less_s: float = 0.0) -> MeasuredEvent:
    if ended_ns is not None:
        return MeasuredEvent(began_ns, (ended_ns - began_ns) / 1e9 - less_s)
    open_s = None if seen_until_ns is None else (seen_until_ns - began_ns) / 1e9 - less_s
    return MeasuredEvent(began_ns, None, open_s)


def _unexpected(pod: Lifecycle) -> Iterator[tuple[int, bool]]:
    """The exits that had to be final, and whether a restart followed. One that was not watched for long proves nothing."""
    restarted = {each.exited_ns for each in pod.restarts if each.expected is False and each.running_ns is not None}
    until_ns = math.inf if pod.seen_until_ns is None else pod.seen_until_ns
    for exited_ns in pod.finals_ns:
        if exited_ns in restarted or exited_ns + WATCHED_S * 1e9 <= until_ns:
            yield exited_ns, exited_ns in restarted


def _late(pod: Lifecycle) -> Iterator[tuple[int, bool]]:
    """Restarts with an upper bound, and whether they exceed it; one that is still open within it is left out."""
    for each in pod.restarts:
        if each.latest_s is None or (each.created_ns is None and each.started_ns is not None):
            continue
        until_ns = pod.seen_until_ns if each.created_ns is None else each.created_ns
        exceeds = until_ns is not None and (until_ns - each.exited_ns) / 1e9 > each.latest_s
        if each.created_ns is not None or exceeds:
            yield each.exited_ns, exceeds


def _restarts(pod: Lifecycle) -> Iterator[int]:
    return (each.running_ns for each in pod.restarts if each.running_ns is not None)


def _exits(pod: Lifecycle) -> Iterator[int]:
    restarted = [each.exited_ns for each in pod.restarts]
    yield from restarted
    yield from (exited_ns for exited_ns in pod.finals_ns if exited_ns not in restarted)


def _starts(pod: Lifecycle) -> Iterator[int]:
    return (start_ns for starts in pod.starts_ns.values() for start_ns in starts)


def _pods(pod: Lifecycle) -> Iterator[int]:
    if pod.started_ns is not None:
        yield pod.started_ns


SAMPLES: Mapping[str, Samples] = {
    "pod-startup": Samples("pods", _startup),
    "stateful-pod-startup": Samples("pods", _stateful_startup),
    "pod-ready": Samples("pods", _ready),
    "restart-lateness": Samples("restarts", _lateness),
    "restart-delay": Samples("restarts", _delay),
    "container-start": Samples("restarts", _container_start),
    "early-restarts": Samples("pods", _early),
    "restart-all-first-start": Samples("RestartAllContainers", _first_of_all),
}
SHARES: Mapping[str, Share] = {
    "unexpected-restarts": Share("final exits", _unexpected),
    "late-restarts": Share("restarts", _late, of_time=True),
}
COUNTS: Mapping[str, Count] = {
    "restarts": Count("restarts", "restart", _restarts),
    "exits": Count("exits", "exit", _exits),
    "starts": Count("container starts", "container start", _starts),
    "pod-starts": Count("pods", "pod", _pods),
}
