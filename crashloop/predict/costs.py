"""Measured cost of one restart: the file that a stress run writes (costs.json) and a prediction reads."""

from collections.abc import Iterable, Iterator
from math import inf

import msgspec

from crashloop.errors import UsageError

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
        raise UsageError(f"costs {name}: {error}.\nA stress run writes such a file (costs.json).") from error
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
