"""Costs to reckon with where no stress run of one's own is at hand."""

from crashloop.predict.costs import Costs

MEASURED = Costs(
    source=(
        "20 pods of one container that exits at once and keeps no journal, maximum 1 s, one node on 2 cores that it shares with "
        "its control plane, Kubernetes 1.37.1, containerd 2.3.7, cgroup v1, 60 s, less 20 s without load; the overhead is from 5 "
        "such pods, what is sustained from 60 (1,109 restarts in 60 s, host 98 % busy); containers that run for some time or "
        "write cost more"
    ),
    cores=2.0,
    restarts=517,
    api_requests=5.8473,
    api_writes=3.329,
    kubelet_cpu_s=0.0126,
    runtime_cpu_s=0.0722,
    apiserver_cpu_s=0.0141,
    etcd_cpu_s=0.0027,
    overhead_s=0.78,
    sustained_per_s=18.4,
)
