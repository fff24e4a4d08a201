"""Faults of static pods and their mirror pods."""

from crashloop.sim.faults.fault import Fault


class StaticPodFault(Fault):
    """What a kubelet does with files of its node, and with their mirror pods."""

    MIRROR_GONE = "does not make a deleted mirror pod again", {"mirror_returns_ms": None}
    MIRROR_LATE = "makes a deleted mirror pod again after 40 s to 45 s", {"mirror_returns_ms": (40_000, 45_000)}
    MIRROR_MUTE = "writes no status into a mirror pod that it has made again", {"mirror_states": False}
    STATIC_AT_ONCE = "restarts the containers of static pods at once", {"delays_static": False}
    STATIC_KEEPS_COUNTER = (
        "lets an edited static pod go on with the counter of the one before",
        {"static_keyed_by_uid": False},
    )
