"""Faults of the node: pods that should be independent depend on each other."""

from crashloop.sim.behaviour import S
from crashloop.sim.faults.fault import Fault


class NodeFault(Fault):
    """What the pods of a node share."""

    SHARED_BY_NODE = "keeps one counter for all containers of a name", {"keyed_by_pod": False}
    EIGHT_COUNTERS = "keeps the counters of eight containers only", {"most_counters": 8}
    RESTARTS_THROTTLED = "restarts one container of the node per second at most", {"restarts_apart_ns": S}
    SYNCS_IN_TURN = "works on one pod of the node at a time", {"syncs_in_turn": True}
    LOST_AT_DELETION = "loses the counters of all pods of the node when a pod is deleted", {"deletion_forgets": True}
    LOST_AT_ADMISSION = "loses the counters of all pods of the node when a pod comes", {"admission_forgets": True}
