"""Default costs, for predictions without a stress run of the user's."""

from crashloop.predict.costs import Costs, CostsAt


def _knee(restarts_per_s: float, *costs: float, restarts: int, overhead_s: float) -> CostsAt:
    requests, kubelet_cpu_s, runtime_cpu_s, apiserver_cpu_s, etcd_cpu_s = costs
    return CostsAt(
        restarts_per_s=restarts_per_s,
        maximum_s=1.0,
        restarts=restarts,
        overhead_s=overhead_s,
        api_requests=requests,
        api_writes=requests * _WRITES,
        kubelet_cpu_s=kubelet_cpu_s,
        runtime_cpu_s=runtime_cpu_s,
        apiserver_cpu_s=apiserver_cpu_s,
        etcd_cpu_s=etcd_cpu_s,
    )


_WRITES = 3.9999 / 6.5175
"""Share of writes with 20 pods, taken for all numbers of pods."""

MEASURED = Costs(
    source=(
        "load knee (docs/benchmark.md), 20 pods of one container that exits at once and writes to its journal, 40 s, "
        "kubelet profile max-1s, one node on 2 cores that it shares with its control plane, Kubernetes 1.37.1, "
        "containerd 2.3.7, cgroup v1, less the same node without crashing pods; what is sustained is from 40 such "
        "pods (host 96 % busy)"
    ),
    cores=2.0,
    restarts=338,
    api_requests=6.5175,
    api_writes=3.9999,
    kubelet_cpu_s=0.017,
    runtime_cpu_s=0.1079,
    apiserver_cpu_s=0.0209,
    etcd_cpu_s=0.0036,
    overhead_s=1.061,
    sustained_per_s=11.09,
    # With 5, 10 and 20 pods, by the rates of that run less those without crashing pods; the overheads of 5 and 10 follow from
    # their rates, as that of 20 does from its own.
    by_load=(
        _knee(2.37, 7.59, 0.0198, 0.112, 0.028, 0.0055, restarts=91, overhead_s=0.843),
        _knee(4.64, 7.30, 0.0168, 0.103, 0.025, 0.0041, restarts=177, overhead_s=0.888),
        _knee(8.59, 6.5175, 0.017, 0.1079, 0.0209, 0.0036, restarts=338, overhead_s=1.061),
    ),
)

# Of the control plane, on 2 cores, Kubernetes 1.37.1. Durations are means by the API server's own metrics, in a run of `quick`
# with 9 crashing pods: GET of a pod; PATCH of a status, POST and PATCH of an event. The others are from bench/status_writes.py.
READ_S, WRITE_S = 0.0030, 0.0060
STATUS_SHARE = 0.5
"""Of the writes, those of a pod's status; the rest are events."""
MEASURED_REQUESTS_PER_S = 360.0
"""The highest rate at which replayed restarts kept up in three of four runs, on a host with other work."""
STORED_BYTES_PER_WRITE = 2000.0
"""Growth of etcd's database; pods of one container and a short status."""
