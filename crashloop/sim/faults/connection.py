"""Faults of a kubelet without a control plane."""

from crashloop.sim.behaviour import S
from crashloop.sim.faults.fault import Fault


class ConnectionFault(Fault):
    """What the kubelet does while it cannot reach the API server, and after that."""

    STOPS_ALONE = "restarts nothing while it has no API server", {"restarts_alone": False}
    SLOW_ALONE = "looks at waiting containers every 30 s while it has no API server", {"alone_retry_ns": 30 * S}
    FORGETS_ALONE = "keeps no counters while it has no API server", {"forgets_alone": True}
    COUNTS_NOT_ALONE = "does not count restarts that it makes without the API server", {"counts_alone": False}
    KILLS_ALONE = "kills its containers after 20 s without the API server", {"kills_alone_after_ns": 20 * S}
