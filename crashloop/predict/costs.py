"""Measured costs of one restart: those of a stress run (costs.json), the defaults, and the cost under a load between them.

A restart costs more where restarts are rare: then every change of a status is a request of its own, and nothing is shared. It
also costs more the longer its container waited: a kubelet syncs waiting pods as well, and says each time that they wait. So a
costs file may hold the costs at several rates and delays (the maxima of curves). Between two rates and between two delays
costs are linear, outside of them those of the nearest. Without such loads they are the same everywhere.
The overhead depends on the rate as well, since a busy node finds an exit later; loads whose overhead is not known are left out.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from itertools import groupby
from math import inf
from pathlib import Path

import msgspec

from crashloop.errors import UsageError
from crashloop.words import in_words

COSTS_FORMAT = "crashloop.costs/1"


MOST_CORES = 1024
"""Of a node: the simulation has a server for each."""

COSTED = ("api_requests", "api_writes", "kubelet_cpu_s", "runtime_cpu_s", "apiserver_cpu_s", "etcd_cpu_s")
"""Costs that depend on the load."""


class CostsAt(msgspec.Struct, frozen=True, kw_only=True):
    """The costs of one restart under one load, as in Costs, with what its container's waiting costs."""

    restarts_per_s: float
    """Of the node."""
    maximum_s: float
    """Of the node's curve: the delay of every restart, once it is reached."""
    restarts: int
    """How many were measured."""
    api_requests: float
    api_writes: float
    kubelet_cpu_s: float
    runtime_cpu_s: float
    apiserver_cpu_s: float
    etcd_cpu_s: float
    overhead_s: float | None = None
    """None where unknown: in files of versions that knew one overhead only, and where each container restarted a few times."""
    intervals: dict[str, tuple[float, float]] = {}
    """95 % intervals by what varied within the measurement, by the name of the cost; absent where unknown."""


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """Costs of one restart of one container, beyond the node's baseline."""

    format: str = COSTS_FORMAT
    source: str
    """Place and method of the measurement, in a sentence."""
    cores: float
    """Of the node that was measured; shared with the control plane if `shared_host`."""
    shared_host: bool = True
    restarts: int
    """How many restarts were measured."""
    api_requests: float
    """Requests of the kubelet to the API server, all verbs."""
    api_writes: float
    """Of these, POST, PUT, PATCH and DELETE: each is at most one write to etcd."""
    kubelet_cpu_s: float
    runtime_cpu_s: float
    """Runtime, shims and their reaped children: runc and the containers' own processes."""
    apiserver_cpu_s: float
    etcd_cpu_s: float
    overhead_s: float
    """From an exit to the next start, on average, beyond the delay and its mean jitter: finding the exit, creating, starting."""
    saturated: bool = False
    """Whether the CPU was the limit during the measurement: then the overhead is mostly waiting for CPU."""
    sustained_per_s: float | None = None
    """The most restarts per second that the node sustained with busy cores; None if it was not driven that far."""
    intervals: dict[str, tuple[float, float]] = {}
    """As in CostsAt."""
    by_load: tuple[CostsAt, ...] = ()
    """The same costs under every load that was measured below the limit of the host; empty: only this one is known."""


def read_costs(text: bytes, *, name: str) -> Costs:
    """A costs file. Raises UsageError naming the field that is wrong."""
    try:
        costs = msgspec.json.decode(text, type=Costs)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"costs {name}: {in_words(error)}.\nA stress run writes such a file (costs.json).") from error
    if costs.format != COSTS_FORMAT:
        raise UsageError(f"costs {name}: format {costs.format!r}; this version reads {COSTS_FORMAT!r}.")
    fault = next(_faults(costs), None)
    if fault is not None:
        raise UsageError(f"costs {name}: {fault}.")
    return costs


def _faults(costs: Costs) -> Iterator[str]:
    yield from _wrong(
        costs,
        above_zero=("cores", "api_requests", "kubelet_cpu_s", "runtime_cpu_s"),
        not_negative=("api_writes", "apiserver_cpu_s", "etcd_cpu_s", "overhead_s"),
    )
    if costs.cores > MOST_CORES:
        yield f"cores is {costs.cores:g}; expected {MOST_CORES} at most"
    for at in costs.by_load:
        for fault in _wrong(at, above_zero=("restarts_per_s", "maximum_s", "api_requests"), not_negative=COSTED):
            yield f"by_load: {fault}"
    if costs.restarts < 1:
        yield f"restarts is {costs.restarts}; nothing was measured"
    if costs.sustained_per_s is not None and costs.sustained_per_s <= 0:
        yield f"sustained_per_s is {costs.sustained_per_s:g}; expected a number above zero, or null"


def _wrong(costs: Costs | CostsAt, *, above_zero: Iterable[str], not_negative: Iterable[str]) -> Iterator[str]:
    for field in above_zero:
        if not 0 < getattr(costs, field) < inf:
            yield f"{field} is {getattr(costs, field):g}; expected a number above zero"
    for field in not_negative:
        if not 0 <= getattr(costs, field) < inf:
            yield f"{field} is {getattr(costs, field):g}; expected a number that is not negative"


def costs_at(costs: Costs, restarts_per_s: float, delay_s: float) -> Costs:
    """The costs on a node with that rate of restarts, of restarts with that delay."""
    if not costs.by_load:
        return costs
    known = dict.fromkeys(COSTED, costs.by_load)
    if timed := tuple(each for each in costs.by_load if each.overhead_s is not None):
        known["overhead_s"] = timed
    found = {name: _interpolated(_points(name, rows), restarts_per_s, delay_s) for name, rows in known.items()}
    return msgspec.structs.replace(costs, **found)


def _points(name: str, rows: Iterable[CostsAt]) -> tuple[tuple[float, float, float], ...]:
    """Maximum, rate and cost of each row, in this order."""
    return tuple(sorted((each.maximum_s, each.restarts_per_s, getattr(each, name)) for each in rows))


@cache  # a prediction asks for each of a few hundred again and again
def _interpolated(points: tuple[tuple[float, float, float], ...], restarts_per_s: float, delay_s: float) -> float:
    by_delay = {}
    for maximum_s, each in groupby(points, key=lambda point: point[0]):
        _, rates, values = zip(*each, strict=True)
        by_delay[maximum_s] = _between(restarts_per_s, rates, values)
    return _between(delay_s, list(by_delay), list(by_delay.values()))


def _between(at: float, places: Sequence[float], values: Sequence[float]) -> float:
    """Linear between the places, which ascend; outside of them the value of the nearest."""
    after = bisect_right(places, at)
    if after in (0, len(places)):
        return values[min(after, len(places) - 1)]
    slope = (values[after] - values[after - 1]) / (places[after] - places[after - 1])
    return slope * (at - places[after - 1]) + values[after - 1]


MEASURED_FILE = Path(__file__).with_name("measured.json")


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A published run whose costs are among the default ones."""

    profile: str
    started: datetime


class DefaultCosts(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of measured.json."""

    sources: tuple[Source, ...]
    costs: Costs


def _read(path: Path) -> DefaultCosts:
    found = msgspec.json.decode(path.read_bytes(), type=DefaultCosts)
    read_costs(msgspec.json.encode(found.costs), name=path.name)
    return found


_DEFAULT = _read(MEASURED_FILE)
MEASURED = _DEFAULT.costs
SOURCES = _DEFAULT.sources


def is_source(started: datetime) -> bool:
    """Whether the run that started then is one that the default costs are from: they predict nothing about it."""
    return any(each.started == started for each in SOURCES)


# Of the control plane, on 2 cores, Kubernetes 1.37.1. Durations are means by the API server's own metrics, in a run of `quick`
# with 9 crashing pods: GET of a pod; PATCH of a status, POST and PATCH of an event. The others are from bench/status_writes.py.
READ_S, WRITE_S = 0.0030, 0.0060
STATUS_SHARE = 0.5
"""Of the writes, those of a pod's status; the rest are events."""
MEASURED_REQUESTS_PER_S = 360.0
"""The highest rate at which replayed restarts kept up in three of four runs, on a host with other work."""
STORED_BYTES_PER_WRITE = 2000.0
"""Growth of etcd's database; pods of one container and a short status."""
