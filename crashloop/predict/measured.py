"""Costs to reckon with where no stress run of one's own is at hand."""

from crashloop.predict.costs import Costs

MEASURED = Costs(
    source=(
        "20 pods of one container that exits at once, maximum 1 s, one node on 2 cores that it shares with its control plane, "
        "Kubernetes 1.37.1, containerd 2.3.7, cgroup v1, 60 s, less 20 s without load"
    ),
    cores=2.0,
    restarts=412,
    api_requests=5.5657,
    api_writes=3.5536,
    kubelet_cpu_s=0.0159,
    runtime_cpu_s=0.0899,
    apiserver_cpu_s=0.0162,
    etcd_cpu_s=0.0038,
    overhead_s=0.8,
    sustained_per_s=6.8,
)
