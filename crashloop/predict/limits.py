"""Limits of a control plane, and what crashing pods use of them. Pure.

Theory of operation. Rates of the cluster times the measured size or duration of one request. Requests in flight are the rate
times the mean duration (Little's law), which grows near a limit, so beyond the measured rates every number is extrapolated and
the headroom is the best case. Only what crashing pods add is counted, not the load that the cluster has anyway.
Sources: k8s.io/apiserver@v0.37.1 pkg/server/config.go (MaxRequestsInFlight 400, MaxMutatingRequestsInFlight 200; summed by
priority and fairness), pkg/apis/flowcontrol/bootstrap/default.go (level `system` 30 of 245 shares; kubelets' requests are of
flow schema `system-nodes`), pkg/storage/storagebackend/config.go (DefaultCompactInterval); etcd v3.6 server/storage/quota.go
(2 GiB); etcd.io/docs, "Hardware recommendations" (500 sequential IOPS for heavily loaded clusters).
"""

from math import ceil

import msgspec

from crashloop.predict.costs import MEASURED_REQUESTS_PER_S, READ_S, STATUS_SHARE, STORED_BYTES_PER_WRITE, WRITE_S
from crashloop.predict.load import LoadPrediction

SEATS = 400 + 200
SYSTEM_SHARES, ALL_SHARES = 30, 30 + 40 + 10 + 40 + 100 + 20 + 5
KUBELET_SEATS = ceil(SEATS * SYSTEM_SHARES / ALL_SHARES)
ETCD_FSYNCS_PER_S = 500.0
ETCD_QUOTA_MIB = 2048.0
COMPACTION_S = 300.0
WATCHERS = 3
"""Of a pod in a cluster without operators: its kubelet, the controller manager and the scheduler."""


class ControlPlaneLimit(msgspec.Struct, frozen=True, kw_only=True):
    """One limit, and what a load uses of it."""

    name: str
    unit: str
    used: float
    limit: float | None
    """By default; None where Kubernetes sets none."""
    how: str
    extrapolated: bool
    """Whether the load is beyond the rate at which its cost was measured."""

    @property
    def share(self) -> float | None:
        """Of the limit; above 1 if it is exceeded."""
        return None if self.limit is None else self.used / self.limit

    @property
    def headroom(self) -> float | None:
        """How many times this load fits into the limit."""
        return None if not self.share else 1 / self.share


def limits(found: LoadPrediction) -> tuple[ControlPlaneLimit, ...]:
    """Every limit, for a load at the maximum of its curve."""
    load = found.load
    writes = found.etcd_writes_per_s
    reads = found.api_requests_per_s - writes
    seats = reads * READ_S + writes * WRITE_S
    beyond = found.api_requests_per_s > MEASURED_REQUESTS_PER_S

    def row(name: str, unit: str, used: float, limit: float | None, how: str) -> ControlPlaneLimit:
        return ControlPlaneLimit(name=name, unit=unit, used=used, limit=limit, how=how, extrapolated=beyond)

    return (
        ControlPlaneLimit(
            name="client rate of a kubelet",
            unit="requests/s",
            used=found.api_requests_per_s / load.nodes,
            limit=load.kube_api_qps + load.event_record_qps,
            how="kubeAPIQPS and eventRecordQPS, each node",
            extrapolated=False,
        ),
        row(
            "API server, in flight",
            "requests",
            seats,
            SEATS,
            "max-requests-inflight and max-mutating-requests-inflight",
        ),
        row(
            "of these for kubelets",
            "seats",
            seats,
            KUBELET_SEATS,
            "priority level system: 30 of 245 shares, before borrowing",
        ),
        row(
            "etcd, writes to its log",
            "fsyncs/s",
            writes,
            ETCD_FSYNCS_PER_S,
            "at most one a write; etcd's advice for a busy cluster",
        ),
        row(
            "etcd, growth between compactions",
            "MiB",
            writes * STORED_BYTES_PER_WRITE * COMPACTION_S / 2**20,
            ETCD_QUOTA_MIB,
            "in 5 minutes; quota-backend-bytes",
        ),
        row(
            "watch events sent",
            "events/s",
            writes * STATUS_SHARE * WATCHERS,
            None,
            "statuses to kubelet, controller manager and scheduler; every operator that watches pods adds a third of this",
        ),
        row("CPU of the API server", "cores", found.apiserver_cores, None, "as many as its host has"),
        row("CPU of etcd", "cores", found.etcd_cores, None, "as many as its host has"),
    )


def tightest(found: LoadPrediction) -> ControlPlaneLimit:
    """The control plane's limit that the load is nearest to."""
    return max((each for each in limits(found)[1:] if each.share is not None), key=lambda each: each.share or 0.0)
