"""Faults of the restart itself: what it does to the container, its pod and its neighbours."""

from crashloop.sim.behaviour import S
from crashloop.sim.faults.fault import Fault


class RestartFault(Fault):
    """How the kubelet restarts."""

    DOUBLE_START = "starts two instances of a container at once", {"starts_twice": True}
    START_BEFORE_EXIT = "starts the next instance before the last has exited", {"starts_ahead_ns": S // 2}
    NEW_SANDBOX = "makes a new sandbox for each restart", {"new_sandbox": True}
    NEW_SANDBOX_WITHOUT_RULES = (
        "makes a new sandbox for each restart in pods without rules",
        {"new_sandbox_without_rules": True},
    )
    SIBLINGS_TOO = "restarts the other containers of a pod along with the one that exited", {"siblings_too": True}
    SIBLINGS_WAIT = "holds all exited containers of a pod back while one of them waits", {"siblings_wait": True}
    KILLS_AT_RESTART = "kills running containers when it is restarted itself", {"kills_at_restart": True}

    # RestartAllContainers
    RESET_SOURCE_ONLY = "restarts only the container that exited on RestartAllContainers", {"reset_scope": "source"}
    RESET_SKIPS_INIT = "leaves init containers out of RestartAllContainers", {"reset_scope": "regular"}
    RESET_LOSES_SANDBOX = "makes a new sandbox on RestartAllContainers", {"reset_keeps_sandbox": False}
    RESET_20_S_LATE = "carries RestartAllContainers out 20 s late", {"reset_late_ns": 20 * S}
    RESET_50_S_LATE = "carries RestartAllContainers out 50 s late", {"reset_late_ns": 50 * S}
    RESET_70_S_LATE = "carries RestartAllContainers out 70 s late", {"reset_late_ns": 70 * S}
