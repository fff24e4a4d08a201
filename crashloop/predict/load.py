"""What crashing pods cost a cluster: restarts, API requests, etcd writes and CPU, from the measured cost of one restart.

Theory of operation. Each container restarts as its curve allows. At its maximum that is once in `maximum + run` seconds at the
most; on average the kubelet adds a jitter of a quarter of the delay (15 s at most) and what finding, creating and starting
takes. A node gives no more restarts than its CPU pays for, nor more than its kubelet's client rate limit lets requests
through: the lowest of the three is the rate, and the number of pods at which that stops being the curve is the *knee*.
Costs are taken as constant per restart and nodes as independent: a prediction, good below the knee, and a bound above it.
Source of the jitter: pkg/kubelet/pod_workers.go@v1.37.1 (workerBackOffPeriodJitterFactor 0.5, even), at most 30 s late.
"""

from enum import StrEnum

import msgspec

from crashloop.errors import UsageError
from crashloop.model.advertised import delays_s, restarts_by, slowest_wait_s
from crashloop.model.config import Curve
from crashloop.predict.costs import Costs

KUBE_API_QPS = 50.0
"""kubeAPIQPS of a kubelet by default: pkg/kubelet/apis/config/v1beta1/defaults.go@v1.37.1."""
OFFICIAL_PODS, OFFICIAL_NODES, OFFICIAL_PODS_PER_NODE, PODS_PER_CORE = 150_000, 5000, 110, 10
"""kubernetes/community sig-scalability/configs-and-limits/thresholds.md; pods per node are min(110, 10 x cores)."""
MEAN_JITTER, MOST_JITTER_S = 0.25, 15.0
WINDOWS_S = (10.0, 30.0, 70.0, 300.0, 600.0, 1800.0)


class Limit(StrEnum):
    """What holds the rate of restarts down."""

    CURVE = "curve"
    NODE_CPU = "node CPU"
    CLIENT_RATE = "client rate limit"


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Crashing pods on a cluster of nodes that are alike. Raises UsageError for numbers that make no sense."""

    nodes: int
    pods: int
    """Crashing pods on each node."""
    curve: Curve
    containers: int = 1
    """Crashing containers in each pod."""
    run_s: float = 0.0
    """How long each life runs."""
    cores: float = 2.0
    """Of each node."""
    kube_api_qps: float = KUBE_API_QPS

    def __post_init__(self) -> None:
        for name, least in (("nodes", 1), ("pods", 1), ("containers", 1), ("run_s", 0)):
            if not least <= getattr(self, name) < float("inf"):
                raise UsageError(f"{name} is {getattr(self, name):g}; expected {least} or more.")
        for name in ("cores", "kube_api_qps"):
            if not 0 < getattr(self, name) < float("inf"):
                raise UsageError(f"{name} is {getattr(self, name):g}; expected a number above zero.")


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch after all pods have started at once."""

    from_s: float
    to_s: float
    restarts_per_s: float
    """Of the cluster, on average in the window."""
    api_requests_per_s: float


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """A load at the maximum of its curve. Rates are of the cluster where nothing else is said."""

    load: Load
    at_most_per_s: float
    """Restarts a second that the curve allows: nothing late, nothing takes time."""
    curve_per_s: float
    """Restarts a second with the mean jitter and overhead, if the curve were the only limit."""
    restarts_per_s: float
    at_least_per_s: float
    """The fewest that a right kubelet (1.35 and later) gives, all its lateness used, if the curve were the only limit."""
    limit: Limit
    knee_pods: float
    """Pods on a node from which on something other than the curve is the limit."""
    api_requests_per_s: float
    etcd_writes_per_s: float
    kubelet_cores: float
    """Of one node."""
    runtime_cores: float
    """Of one node."""
    apiserver_cores: float
    etcd_cores: float
    first: tuple[Window, ...]
    notes: tuple[str, ...]


def predict(load: Load, costs: Costs) -> Prediction:
    """The prediction for one load."""
    containers = load.pods * load.containers
    cycle_s = load.run_s + mean_wait_s(load.curve.maximum_s, costs)
    ceilings = {
        Limit.CURVE: containers / cycle_s,
        Limit.NODE_CPU: _cpu_ceiling(load, costs),
        Limit.CLIENT_RATE: load.kube_api_qps / costs.api_requests,
    }
    limit = min(ceilings, key=lambda each: ceilings[each])
    rate = ceilings[limit]
    most = min(ceilings[Limit.NODE_CPU], ceilings[Limit.CLIENT_RATE])
    total = load.nodes * rate
    return Prediction(
        load=load,
        at_most_per_s=load.nodes * containers / (load.curve.maximum_s + load.run_s),
        curve_per_s=load.nodes * ceilings[Limit.CURVE],
        restarts_per_s=total,
        at_least_per_s=load.nodes * containers / (slowest_wait_s(load.curve.maximum_s) + load.run_s),
        limit=limit,
        knee_pods=most * cycle_s / load.containers,
        api_requests_per_s=total * costs.api_requests,
        etcd_writes_per_s=total * costs.api_writes,
        kubelet_cores=rate * costs.kubelet_cpu_s,
        runtime_cores=rate * costs.runtime_cpu_s,
        apiserver_cores=total * costs.apiserver_cpu_s,
        etcd_cores=total * costs.etcd_cpu_s,
        first=tuple(_windows(load, costs, most)),
        notes=tuple(_notes(load)),
    )


def mean_wait_s(delay_s: float, costs: Costs) -> float:
    """From an exit to the next start on average, for that delay."""
    return delay_s + min(MEAN_JITTER * delay_s, MOST_JITTER_S) + costs.overhead_s


def _cpu_ceiling(load: Load, costs: Costs) -> float:
    """Restarts a second that a node's CPU pays for: as measured where it was driven that far, else as its costs add up."""
    if costs.sustained_per_s is not None:
        return costs.sustained_per_s * load.cores / costs.cores
    shared = costs.apiserver_cpu_s + costs.etcd_cpu_s if costs.shared_host and load.nodes == 1 else 0.0
    return load.cores / (costs.kubelet_cpu_s + costs.runtime_cpu_s + shared)


def _windows(load: Load, costs: Costs, most: float) -> list[Window]:
    """Averages after a start of all pods at once, the free restart included."""
    found, before_s, before = [], 0.0, 0
    for end_s in WINDOWS_S:
        restarts = restarts_by(
            (mean_wait_s(delay_s, costs) for delay_s in delays_s(load.curve)), end_s, run_s=load.run_s
        )
        wanted = (restarts - before) * load.pods * load.containers / (end_s - before_s)
        rate = load.nodes * min(wanted, most)
        found.append(
            Window(from_s=before_s, to_s=end_s, restarts_per_s=rate, api_requests_per_s=rate * costs.api_requests)
        )
        before_s, before = end_s, restarts
    return found


def _notes(load: Load) -> list[str]:
    notes = []
    allowed = min(OFFICIAL_PODS_PER_NODE, PODS_PER_CORE * load.cores)
    if load.pods > allowed:
        notes.append(
            f"{load.pods} pods per node are more than the {allowed:g} that official SLOs hold for (min(110, 10 x cores))."
        )
    if load.nodes > OFFICIAL_NODES:
        notes.append(f"{load.nodes:,} nodes are more than the {OFFICIAL_NODES:,} that official SLOs hold for.")
    if load.nodes * load.pods > OFFICIAL_PODS:
        notes.append(
            f"{load.nodes * load.pods:,} pods are more than the {OFFICIAL_PODS:,} that official SLOs hold for."
        )
    return notes
