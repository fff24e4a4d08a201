"""Faults before a pod's first sync: where the scheduler places it, and whether the kubelet takes it."""

from crashloop.sim.behaviour import S
from crashloop.sim.faults.fault import Fault


class AdmissionFault(Fault):
    """What scheduler and kubelet make of the features that a pod needs and a node declares."""

    SCHEDULER_IGNORES_FEATURES = (
        "has a scheduler that does not heed what nodes declare",
        {"scheduler_misses": "nothing"},
    )
    SCHEDULER_HOLDS_RULES = (
        "has a scheduler that places no pod with a restart rule",
        {"scheduler_misses": "rules"},
    )
    SCHEDULER_GIVES_IN = (
        "has a scheduler that binds a pod to a node without what it needs after 10 s",
        {"scheduler_gives_in_ns": 10 * S},
    )
    TAKES_ALL_PODS = "runs pods that need what it does not have", {"kubelet_misses": "nothing"}
    REJECTS_RULES = "rejects every pod with a restart rule", {"kubelet_misses": "rules"}
