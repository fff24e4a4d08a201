"""Cost of crashing pods for a cluster: restarts, API requests, etcd writes and CPU, from the measured cost of one restart.

Theory of operation. Every container restarts as its curve allows. At the curve's maximum that is at most once per
`maximum + run` seconds; on average the kubelet adds a jitter of a quarter of the delay (15 s at most) and the time to find
the exit, create and start. A node's CPU limits its rate of restarts; the *knee* is the number of pods at which it does.
The client rate limit of a kubelet slows no restart: another goroutine writes statuses and merges changes, and events have
their own limiter. So it bounds requests, not restarts.
Costs of a restart are interpolated between the measured loads (costs.py), by its delay and the node's rate, and nodes are
independent: a prediction below the knee. Beyond it costs grow with the load and requests per restart fall, so the result is a
bound. Lateness, and the time after a start of all pods at once, are simulated (simulation.py); the rates at the maximum of the
curve are its closed form.
Source: pkg/kubelet/pod_workers.go@v1.37.1 (workerBackOffPeriodJitterFactor 0.5, even, at most 30 s late);
pkg/kubelet/status/status_manager.go (syncBatch); cmd/kubelet/app/server.go (eventClientConfig).
"""

from collections.abc import Iterator
from enum import StrEnum
from itertools import takewhile
from typing import NamedTuple, TypeVar

import msgspec

from crashloop.errors import UsageError
from crashloop.model.config import Curve
from crashloop.model.restart_counts import delays_s, most_late_s, slowest_wait_s
from crashloop.predict.costs import Costs, costs_at
from crashloop.predict.simulation import Simulated, SimulatedNode, simulate

FULL_NODE = 110
"""Pods of a full node: maxPods of a kubelet by default."""


class Spread(NamedTuple):
    """The nodes that have crashing pods, and how many each has."""

    nodes: int
    pods: int
    one_less_on: int
    """So many of the nodes have one pod less."""


def spread(crashing: int, nodes: int) -> Spread:
    """`crashing` pods on at most that many nodes, as evenly as whole pods allow."""
    used = min(crashing, nodes)
    pods = -(-crashing // used)
    return Spread(nodes=used, pods=pods, one_less_on=used * pods - crashing)


def crashing_pods(nodes: int, pods: int | None, *, share: str | None, number: int | None) -> int:
    """The crashing pods of a cluster: a share of all, a number, or all. Raises UsageError where these contradict each other."""
    if share is not None and number is not None:
        raise UsageError("--crashing and --crashing-pods: both name the crashing pods; expected one of them.")
    each = FULL_NODE if pods is None else pods
    if number is None:
        return nodes * each if share is None else max(1, round(share_of(share) * nodes * each))
    if pods is not None and number > nodes * pods:
        raise UsageError(f"--crashing-pods {number}: the cluster has {nodes} x {pods} pods (--nodes, --pods).")
    return number


def share_of(text: str) -> float:
    """The share of `10%` or `0.1`. Raises UsageError for another text, and outside 0 to 1."""
    number, percent, rest = text.strip().partition("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = 0.0
    if rest or not number.isascii() or "_" in number or not 0 < share <= 1:
        raise UsageError(f"--crashing {text!r}: expected a share of the pods above 0 % and up to 100 %, such as 10%.")
    return share


KUBE_API_QPS, EVENT_RECORD_QPS = 50.0, 50.0
"""kubeAPIQPS and eventRecordQPS of a kubelet by default: pkg/kubelet/apis/config/v1beta1/defaults.go@v1.37.1."""
OFFICIAL_PODS, OFFICIAL_NODES, OFFICIAL_PODS_PER_NODE, PODS_PER_CORE = 150_000, 5000, 110, 10
"""kubernetes/community sig-scalability/configs-and-limits/thresholds.md; pods per node are min(110, 10 x cores)."""
HALF_RELIST_S = 0.5
"""How long an exit waits for the next relist on average: pkg/kubelet/kubelet.go@v1.37.1, genericPlegRelistPeriod 1 s."""
AT_CEILING = 0.95
"""From this share of the CPU's ceiling on, the CPU counts as the limit of the restarts in a window."""
_HALVINGS = 40
WINDOWS_S = (10.0, 30.0, 70.0, 300.0, 600.0, 1800.0)


class Limit(StrEnum):
    """The limit of the rate of restarts."""

    CURVE = "curve"
    NODE_CPU = "node CPU"


class CrashLoad(msgspec.Struct, frozen=True, kw_only=True):
    """Crashing pods on a cluster of identical nodes. Raises UsageError for invalid numbers."""

    nodes: int
    """Nodes with crashing pods."""
    pods: int
    """Crashing pods on each of them, or"""
    one_less_on: int = 0
    """one less on so many of them."""
    curve: Curve
    containers: int = 1
    """Crashing containers in each pod."""
    run_s: float = 0.0
    """How long each life runs."""
    cores: float = 2.0
    """Of each node."""
    kube_api_qps: float = KUBE_API_QPS
    event_record_qps: float = EVENT_RECORD_QPS
    of_nodes: int | None = None
    """Nodes of the cluster; None: all have crashing pods."""
    of_pods: int | None = None
    """All pods on each node of the cluster, of which healthy ones cost nothing here; None: only the crashing ones."""

    @property
    def crashing_pods(self) -> int:
        """Of the cluster."""
        return self.nodes * self.pods - self.one_less_on

    @property
    def cluster_nodes(self) -> int:
        return self.of_nodes or self.nodes

    def __post_init__(self) -> None:
        for name, least in (("nodes", 1), ("pods", 1), ("containers", 1), ("run_s", 0)):
            if not least <= getattr(self, name) < float("inf"):
                raise UsageError(f"{name} is {getattr(self, name):g}; expected {least} or more.")
        for name in ("cores", "kube_api_qps", "event_record_qps"):
            if not 0 < getattr(self, name) < float("inf"):
                raise UsageError(f"{name} is {getattr(self, name):g}; expected a number above zero.")


class PredictedWindow(msgspec.Struct, frozen=True, kw_only=True):
    """A window after a start of all pods at once."""

    from_s: float
    to_s: float
    restarts_per_s: float
    """Of the cluster, on average in the window; simulated."""
    api_requests_per_s: float
    lateness_p50_s: float | None = None
    """Exit to create, minus the due delay, of the restarts in the window; None without any."""
    lateness_p99_s: float | None = None


class LoadPrediction(msgspec.Struct, frozen=True, kw_only=True):
    """A load at the maximum of its curve. Rates are the cluster's unless stated otherwise."""

    load: CrashLoad
    at_most_per_s: float
    """Restarts per second that the curve allows, without lateness or overhead."""
    curve_per_s: float
    """Restarts per second with the mean jitter and overhead, if the curve were the only limit."""
    restarts_per_s: float
    at_least_per_s: float
    """The lowest rate of a correct kubelet (1.35 and later), at its greatest lateness, if the curve were the only limit."""
    ceiling_per_s: float
    """Restarts per second that the nodes' CPU allows."""
    limit: Limit
    knee_pods: float
    """Pods per node from which on the node's CPU is the limit."""
    api_requests_per_s: float
    merges_statuses: bool
    """Whether the kubelets' client rate limits pass fewer requests than the restarts cause."""
    etcd_writes_per_s: float
    kubelet_cores: float
    """Of one node."""
    runtime_cores: float
    """Of one node."""
    apiserver_cores: float
    etcd_cores: float
    lateness_p50_s: float | None = None
    """At the maximum of the curve, simulated; rough beyond the knee."""
    lateness_p99_s: float | None = None
    first: tuple[PredictedWindow, ...]
    notes: tuple[str, ...]

    @property
    def is_bound(self) -> bool:
        """Whether the load is beyond the knee: then rates are what the measured CPU allows, and lateness is rough."""
        return self.limit is Limit.NODE_CPU


def is_at_ceiling(found: LoadPrediction, restarts_per_s: float) -> bool:
    """Whether the CPU limits so many restarts in a window of a load, even for a while."""
    return found.is_bound or restarts_per_s >= AT_CEILING * found.ceiling_per_s


def predict(load: CrashLoad, costs: Costs) -> LoadPrediction:
    """The prediction for one load. What is said of one node is said of one with the most pods."""
    if not load.one_less_on:
        return _predict(load, costs)
    full, fewer = (
        _predict(
            msgspec.structs.replace(load, nodes=nodes, pods=pods, one_less_on=0, of_nodes=load.cluster_nodes), costs
        )
        for nodes, pods in ((load.nodes - load.one_less_on, load.pods), (load.one_less_on, load.pods - 1))
    )
    windows = tuple(_sum(one, other, _OF_WINDOWS) for one, other in zip(full.first, fewer.first, strict=False))
    return msgspec.structs.replace(_sum(full, fewer, _OF_ALL), load=load, first=windows)


_OF_ALL = (
    "at_most_per_s", "curve_per_s", "restarts_per_s", "at_least_per_s", "ceiling_per_s", "api_requests_per_s",
    "etcd_writes_per_s", "apiserver_cores", "etcd_cores",
)  # fmt: skip
_OF_WINDOWS = ("restarts_per_s", "api_requests_per_s")


_Rates = TypeVar("_Rates", bound=msgspec.Struct)


def _sum(one: _Rates, other: _Rates, rates: tuple[str, ...]) -> _Rates:
    """The first, with its rates of the cluster added to those of the other."""
    return msgspec.structs.replace(one, **{name: getattr(one, name) + getattr(other, name) for name in rates})


def _predict(load: CrashLoad, costs: Costs) -> LoadPrediction:
    containers = load.pods * load.containers
    cycle_s = _cycle_s(load, costs)
    by_curve, by_cpu = containers / cycle_s, _cpu_ceiling(load, costs)
    rate = min(by_curve, by_cpu)
    here = costs_at(costs, rate, load.curve.maximum_s)
    total, passed = load.nodes * rate, _passed(load, here, rate)
    played = simulate(node_of(load, costs), until_s=WINDOWS_S[-1])
    first = tuple(_windows(load, costs, played))
    settled = first[-1] if first else None
    return LoadPrediction(
        load=load,
        at_most_per_s=load.nodes * containers / (load.curve.maximum_s + load.run_s),
        curve_per_s=load.nodes * by_curve,
        restarts_per_s=total,
        at_least_per_s=load.nodes * containers / (slowest_wait_s(load.curve.maximum_s) + load.run_s),
        ceiling_per_s=load.nodes * by_cpu,
        limit=Limit.CURVE if by_curve <= by_cpu else Limit.NODE_CPU,
        knee_pods=by_cpu * _cycle_at_s(by_cpu, load, costs) / load.containers,
        api_requests_per_s=total * passed * here.api_requests,
        merges_statuses=passed < 1,
        etcd_writes_per_s=total * passed * here.api_writes,
        kubelet_cores=rate * here.kubelet_cpu_s,
        runtime_cores=rate * here.runtime_cpu_s,
        apiserver_cores=total * passed * here.apiserver_cpu_s,
        etcd_cores=total * passed * here.etcd_cpu_s,
        lateness_p50_s=settled.lateness_p50_s if settled else None,
        lateness_p99_s=settled.lateness_p99_s if settled else None,
        first=first,
        notes=(*_notes(load), *_cut_short(played)),
    )


def settled_per_s(load: CrashLoad, costs: Costs) -> float:
    """Restarts per second of the cluster at the maximum of the curve: restarts_per_s of `predict`, without the rest."""
    by_curve = load.pods * load.containers / _cycle_s(load, costs)
    return load.nodes * min(by_curve, _cpu_ceiling(load, costs))


def settles_within_s(load: CrashLoad, costs: Costs) -> float:
    """How long a container takes to the maximum of its curve, on average."""
    overhead = overhead_s(load, costs)
    growing = takewhile(lambda delay_s: delay_s < load.curve.maximum_s, delays_s(load.curve))
    return sum(load.run_s + mean_wait_s(delay_s, overhead) for delay_s in growing)


def _cycle_s(load: CrashLoad, costs: Costs, *, overhead: float | None = None) -> float:
    """From one start to the next at the maximum of the curve, on average."""
    own = overhead_s(load, costs) if overhead is None else overhead
    return load.run_s + mean_wait_s(load.curve.maximum_s, own)


def _cycle_at_s(rate: float, load: CrashLoad, costs: Costs) -> float:
    """The same on a node with that rate of restarts."""
    return _cycle_s(load, costs, overhead=_overhead_at_s(rate, load, costs))


def mean_wait_s(delay_s: float, overhead_s: float) -> float:
    """From an exit to the next start on average, for that delay."""
    return delay_s + most_late_s(delay_s) / 2 + overhead_s


def overhead_s(load: CrashLoad, costs: Costs) -> float:
    """From an exit to the next start beyond delay and jitter, at the rate of the load, as far as loads were measured.

    If the costs were measured with a busy CPU, the measured overhead is mostly waiting; then it is half a relist and the
    restart's own CPU time.
    """
    if costs.saturated:
        return HALF_RELIST_S + _service_s(load, costs)
    containers = load.pods * load.containers
    slowest, fastest = 0.0, containers / _cycle_s(load, costs, overhead=0.0)
    for _ in range(_HALVINGS):  # the rate at which overhead and rate agree
        rate = (slowest + fastest) / 2
        if rate * _cycle_at_s(rate, load, costs) < containers:
            slowest = rate
        else:
            fastest = rate
    return _overhead_at_s(fastest, load, costs)


def free_overhead_s(load: CrashLoad, costs: Costs) -> float:
    """The same on a node with few restarts: what a busier one adds to it is waiting for CPU."""
    return _overhead_at_s(0.0, load, costs)


def _overhead_at_s(rate: float, load: CrashLoad, costs: Costs) -> float:
    return overhead_s(load, costs) if costs.saturated else costs_at(costs, rate, load.curve.maximum_s).overhead_s


def node_of(load: CrashLoad, costs: Costs) -> SimulatedNode:
    """One node of a load, for the simulation, which plays the waiting for CPU itself."""
    service_s = _service_s(load, costs)
    return SimulatedNode(
        containers=load.pods * load.containers,
        curve=load.curve,
        run_s=load.run_s,
        places=_places(load),
        service_s=service_s,
        find_s=max(0.0, free_overhead_s(load, costs) - service_s),
    )


def _places(load: CrashLoad) -> int:
    return max(1, int(load.cores))


def _service_s(load: CrashLoad, costs: Costs) -> float:
    """Service time of a restart, so that all cores together give the rate that the CPU allows."""
    return _places(load) / _cpu_ceiling(load, costs)


def api_requests_per_s(load: CrashLoad, costs: Costs, restarts_per_s: float, delay_s: float) -> float:
    """Requests of one node at that rate of restarts with that delay, after its kubelet's client rate limits."""
    here = costs_at(costs, restarts_per_s, delay_s)
    return restarts_per_s * here.api_requests * _passed(load, here, restarts_per_s) if restarts_per_s else 0.0


def _passed(load: CrashLoad, costs: Costs, restarts_per_s: float) -> float:
    """The share of a node's requests that pass its kubelet's client rate limits; 1 where they limit nothing."""
    wanted = restarts_per_s * costs.api_requests
    return min(1.0, (load.kube_api_qps + load.event_record_qps) / wanted)


def _cpu_ceiling(load: CrashLoad, costs: Costs) -> float:
    """Restarts per second that a node's CPU allows: as measured if it was driven that far, else by the sum of its costs."""
    if costs.sustained_per_s is not None:
        return costs.sustained_per_s * load.cores / costs.cores
    shared = costs.apiserver_cpu_s + costs.etcd_cpu_s if costs.shared_host and load.cluster_nodes == 1 else 0.0
    return load.cores / (costs.kubelet_cpu_s + costs.runtime_cpu_s + shared)


def _windows(load: CrashLoad, costs: Costs, played: Simulated) -> Iterator[PredictedWindow]:
    """Averages after a start of all pods at once, the free restart included, over the simulated time."""
    before_s = 0.0
    for end_s in takewhile(lambda end_s: end_s <= played.until_s, WINDOWS_S):
        seen = played.window(before_s, end_s)
        rate = seen.restarts_per_s
        yield PredictedWindow(
            from_s=before_s,
            to_s=end_s,
            restarts_per_s=load.nodes * rate,
            api_requests_per_s=load.nodes * api_requests_per_s(load, costs, rate, seen.mean_delay_s),
            lateness_p50_s=seen.lateness_p50_s,
            lateness_p99_s=seen.lateness_p99_s,
        )
        before_s = end_s


def _cut_short(played: Simulated) -> Iterator[str]:
    if played.until_s < WINDOWS_S[-1]:
        yield f"So many restarts that only the first {played.until_s:.0f} s were simulated."


def _notes(load: CrashLoad) -> list[str]:
    notes = []
    pods, nodes = load.of_pods or load.pods, load.cluster_nodes
    allowed = min(OFFICIAL_PODS_PER_NODE, PODS_PER_CORE * load.cores)
    if pods > allowed:
        notes.append(
            f"{pods} pods per node are more than the {allowed:g} that official SLOs hold for (min(110, 10 x cores))."
        )
    if nodes > OFFICIAL_NODES:
        notes.append(f"{nodes:,} nodes are more than the {OFFICIAL_NODES:,} that official SLOs hold for.")
    all_pods = load.crashing_pods if load.of_pods is None else nodes * pods
    if all_pods > OFFICIAL_PODS:
        notes.append(f"{all_pods:,} pods are more than the {OFFICIAL_PODS:,} that official SLOs hold for.")
    return notes
