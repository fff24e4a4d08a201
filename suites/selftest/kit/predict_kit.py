"""Costs of a restart made up for the tests of predictions."""

from crashloop.model.config import Curve
from crashloop.predict.costs import Costs

COSTS = Costs(
    source="made up",
    cores=2,
    restarts=100,
    api_requests=5,
    api_writes=3,
    kubelet_cpu_s=0.05,
    runtime_cpu_s=0.15,
    apiserver_cpu_s=0.02,
    etcd_cpu_s=0.01,
    overhead_s=0.75,
    shared_host=False,
)
ONE_SECOND = Curve(1.0, 1.0)
