"""Faults of the restart itself: what it does to the container, its pod and its neighbours."""

from crashloop.sim.behaviour import S
from crashloop.sim.faults.fault import Fault


class RestartFault(Fault):
    """How the kubelet restarts."""

    DOUBLE_START = "starts two instances of a container at once", {"starts_twice": True}
    START_BEFORE_EXIT = "starts the next instance before the last has exited", {"starts_ahead_ns": S // 2}
    ROOT_KEPT = "restarts a container in the root filesystem of its last instance", {"keeps_root": "always"}
    ROOT_KEPT_AFTER_0 = "keeps the root filesystem of a container that exited with 0", {"keeps_root": "after 0"}
    ROOT_KEPT_SOMETIMES = "keeps the root filesystem at each third restart", {"keeps_root": "sometimes"}
    VOLUMES_REMOUNTED = "mounts the volumes of a pod anew for each restart", {"remounts": "always"}
    VOLUMES_REMOUNTED_AFTER_0 = "mounts the volumes of a pod anew after an exit with 0", {"remounts": "after 0"}
    VOLUMES_REMOUNTED_SOMETIMES = "mounts the volumes of a pod anew for each third restart", {"remounts": "sometimes"}
    NEW_SANDBOX = "makes a new sandbox for each restart", {"new_sandbox": True}
    NEW_SANDBOX_WITHOUT_RULES = (
        "makes a new sandbox for each restart in pods without rules",
        {"new_sandbox_without_rules": True},
    )
    NEW_SANDBOX_RUNS_ALL = (
        "runs a container under OnFailure that has succeeded again when its pod gets another sandbox",
        {"new_sandbox_runs_all": True},
    )
    NEW_SANDBOX_EACH_5TH = "makes a new sandbox at each fifth restart", {"new_sandbox_each": 5}
    DELETION_AWAITS_DELAY = (
        "ends a pod that is deleted only when the delays of its containers have passed",
        {"deletion_awaits_delay": True},
    )
    SIBLINGS_TOO = "restarts the other containers of a pod along with the one that exited", {"siblings_too": True}
    SIBLINGS_WAIT = "holds all exited containers of a pod back while one of them waits", {"siblings_wait": True}
    KILLS_HARD = "kills containers without asking them to end", {"kills_hard": True}
    KILLS_AT_RESTART = "kills running containers when it is restarted itself", {"kills_at_restart": True}

    # The first start
    STOPS_AFTER_INIT = "starts nothing after an init container that has succeeded", {"stops_after_init": True}
    STOPS_AT_SIDECARS = "never starts what stands behind a sidecar", {"stops_at_sidecars": True}
    STARTS_ONE_REGULAR = "starts only the first of several regular containers", {"starts_one_regular": True}

    # What a start gives the container
    CONFIG_MAPS_STAY = "gives a pod the first values of a ConfigMap for good", {"config_maps_stay": True}
    SECRETS_STAY = "gives a pod the first values of a Secret for good", {"secrets_stay": True}
    CONFIG_ONE_BEHIND = (
        "gives a container the values that its objects had at the start before",
        {"config_one_behind": True},
    )
    HOOK_ONCE = "runs the postStart hook at the first start only", {"hook_runs": (1, 0)}
    HOOK_NEVER = "does not run postStart hooks", {"hook_runs": (0, 0)}
    HOOK_TWICE = "runs the postStart hook twice at a restart", {"hook_runs": (1, 2)}

    # What it leaves to the runtime, and has it do
    EXITED_KEPT = "removes no exited container while its pod is there", {"keeps_exited": 10_000}
    TWENTY_EXITED_KEPT = "keeps twenty exited containers of a name", {"keeps_exited": 20}
    EACH_THIRD_KEPT = "does not remove each third exited container", {"keeps_each": 3}
    SPARE_CREATE = "creates a container at each restart that it removes unused", {"spare_create": True}

    # The startup probe
    STARTUP_PROBE_ONCE = "asks a startup probe at the first start only", {"startup_asked": "first start"}
    STARTUP_PROBE_TILL_SUCCESS = (
        "asks a startup probe no more at the starts after its first success",
        {"startup_asked": "first success"},
    )
    STARTUP_NOT_AWAITED = "asks the other probes before the startup probe has succeeded", {"awaits_startup": False}

    # Volumes that come later than their pod
    VOLUME_NOT_AWAITED = "starts a container before its volume is there", {"awaits_volumes": False}
    VOLUME_WAIT_COUNTS = "counts the wait for a volume as a start that failed", {"volume_wait_steps": 1}
    VOLUME_WAIT_COUNTS_TWICE = "counts the wait for a volume as two starts that failed", {"volume_wait_steps": 2}

    # Nodes without a pod network
    NETWORK_NOT_AWAITED = "starts a pod while its node has no pod network", {"awaits_network": False}
    NETWORK_WAIT_COUNTS = "counts the wait for the network as a start that failed", {"network_wait_steps": 1}
    NETWORK_WAIT_COUNTS_TWICE = "counts the wait for the network as two starts that failed", {"network_wait_steps": 2}

    # Starts that fail, and their order
    FAILED_STARTS_DOUBLE = "doubles the time to the next attempt after each failed start", {"failed_start_factor": 2.0}
    FAILED_STARTS_ONCE_A_MINUTE = "tries a failed start again after a minute", {"failed_start_retry_ns": 60 * S}
    FAILED_STARTS_GIVEN_UP = "does not try a failed start again", {"failed_start_retry_ns": 10_000 * S}
    STARTS_REVERSED = "starts the containers of a pod in reverse order", {"start_order": "reverse"}
    STARTS_BY_NAME = "starts the containers of a pod in the order of their names", {"start_order": "names"}
    RESIZE_WITHOUT_RESTART = "does not restart a container whose resize asks for it", {"resize_restarts": "never"}
    RESIZE_HEEDS_RULES = (
        "does not restart a container with rules whose resize asks for it",
        {"resize_restarts": "unruled"},
    )
    RESIZE_RESTARTS_TWICE = "restarts a container whose resize asks for it twice", {"resize_restarts": "twice"}
    RESIZE_RESTARTS_ANY = "restarts a container whose resize does not ask for it", {"resize_restarts": "any"}
    DELETED_RESTARTED = "restarts a container once while its pod is being deleted", {"restarts_deleted": True}

    # RestartAllContainers
    RESET_SOURCE_ONLY = "restarts only the container that exited on RestartAllContainers", {"reset_scope": "source"}
    RESET_ONCE = "carries RestartAllContainers out once in the life of a pod", {"resets_once": True}
    RESET_BY_REGULAR_ONLY = (
        "does not carry RestartAllContainers out for init containers and sidecars",
        {"resets_by_regular_only": True},
    )
    RESET_SKIPS_INIT = "leaves init containers out of RestartAllContainers", {"reset_scope": "regular"}
    RESET_SKIPS_SIDECARS = "leaves sidecars out of RestartAllContainers", {"reset_scope": "no sidecars"}
    RESET_DOES_NOT_AWAIT_INIT = (
        "starts regular containers along with the init containers after RestartAllContainers",
        {"awaits_init_after_reset": False},
    )
    RESET_REPLACES_EPHEMERAL = "restarts ephemeral containers on RestartAllContainers", {"reset_scope": "everything"}
    RESET_ENDS_EPHEMERAL = "ends ephemeral containers on RestartAllContainers", {"reset_kills_ephemeral": True}
    RESET_REPEATS_EPHEMERAL = (
        "starts ephemeral containers a second time on RestartAllContainers",
        {"reset_repeats_ephemeral": True},
    )
    RESET_LOSES_SANDBOX = "makes a new sandbox on RestartAllContainers", {"reset_keeps_sandbox": False}
    RESET_LOSES_LOGS = (
        "removes the logs of the instances that RestartAllContainers removes",
        {"reset_keeps_logs": "none"},
    )
    RESET_LOSES_LOG_OF_SOURCE = (
        "removes the log of the instance that triggers RestartAllContainers",
        {"reset_keeps_logs": "others"},
    )
    RESET_KEEPS_LOG_OF_SOURCE = (
        "keeps the log of the instance that triggers RestartAllContainers only",
        {"reset_keeps_logs": "source"},
    )
    RESET_20_S_LATE = "carries RestartAllContainers out 20 s late", {"reset_late_ns": 20 * S}
    RESET_50_S_LATE = "carries RestartAllContainers out 50 s late", {"reset_late_ns": 50 * S}
    RESET_70_S_LATE = "carries RestartAllContainers out 70 s late", {"reset_late_ns": 70 * S}
