"""Faults of the controllers beside the kubelet: Jobs and ReplicaSets."""

from crashloop.sim.behaviour import S
from crashloop.sim.faults.fault import Fault


class JobFault(Fault):
    """What counts as a failure, and what a Job does about it."""

    JOB_COUNTS_RESTARTS = (
        "has a Job controller that counts restarts under every policy",
        {"job_counts_restarts": True},
    )
    JOB_COUNTS_NO_RESTART = "has a Job controller that counts no restarts", {"job_counts_restarts": False}
    JOB_READS_ACTIVE_PODS = (
        "has a Job controller that applies podFailurePolicy to pods that have not ended",
        {"job_reads_active_pods": True},
    )
    JOB_IGNORES_POLICY = "has a Job controller that does not heed podFailurePolicy", {"job_heeds_policy": False}
    JOB_ONE_MORE = "has a Job controller that lets one pod more fail than the limit", {"job_extra_failures": 1}
    JOB_ONE_FEWER = "has a Job controller that fails the Job one pod early", {"job_extra_failures": -1}
    JOB_NEVER_REPLACES = "has a Job controller that does not replace failed pods", {"job_replaces": False}
    JOB_ON_THE_CURVE = (
        "has a Job controller that spaces pods from 1 s on",
        {"job_first_backoff_ns": S},
    )
    JOB_MISCOUNTS = "has a Job controller that does not count the last failure", {"job_counts_last": False}
    REPLICAS_SPACED = "has a ReplicaSet controller that spaces pods from 10 s on", {"replaces": "spaced"}
    REPLICAS_NOT_REPLACED = (
        "has a ReplicaSet controller that does not replace pods that have ended",
        {"replaces": "never"},
    )
    REPLICAS_DOUBLED = (
        "has a ReplicaSet controller that makes two pods for the first that has ended",
        {"replaces": "twice"},
    )
