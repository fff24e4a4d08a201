"""Faults of distinctions: the kubelet takes one kind of container, exit or pod for another."""

from crashloop.spec.pod import QosClass
from sim.faults.fault import Fault


class DistinctionFault(Fault):
    """What the kubelet treats in another way than the rest."""

    # Delays
    SUCCESS_DELAYS_FLAT = "leaves the delay as it is after an exit with 0", {"never_grows": "success"}
    KILL_DELAYS_FLAT = "leaves the delay as it is when it has killed the container", {"never_grows": "killed"}
    INIT_DELAYS_FLAT = "leaves the delay of init containers as it is", {"never_grows": "init"}
    SIDECAR_DELAYS_FLAT = "leaves the delay of sidecars as it is", {"never_grows": "sidecars"}
    RULE_STEPS_TWICE = "doubles the delay twice when a rule restarts a container", {"grows_twice": "by rule"}
    ON_FAILURE_STEPS_TWICE = "doubles the delay twice under OnFailure", {"grows_twice": "on failure"}
    OOM_STEPS_TWICE = "doubles the delay twice when memory ran out", {"grows_twice": "out of memory"}
    HOOKED_STEPS_TWICE = "doubles the delay twice of a container with a postStart hook", {"grows_twice": "hooked"}
    KILL_STEPS_TWICE = "doubles the delay twice when it has killed the container", {"grows_twice": "killed"}
    MAX_NOT_OF_INIT = "does not heed the configured maximum for init containers", {"max_not_for": "init"}
    MAX_NOT_OF_SIDECARS = "does not heed the configured maximum for sidecars", {"max_not_for": "sidecars"}
    MAX_NOT_OF_RULED = "does not heed the configured maximum for containers with rules", {"max_not_for": "ruled"}
    MAX_NOT_ON_FAILURE = "does not heed the configured maximum under OnFailure", {"max_not_for": "on failure"}
    MAX_NOT_OF_GUARANTEED = (
        "does not heed the configured maximum for pods that are Guaranteed",
        {"max_not_for": QosClass.GUARANTEED},
    )
    MAX_NOT_OF_BEST_EFFORT = (
        "does not heed the configured maximum for pods that are BestEffort",
        {"max_not_for": QosClass.BEST_EFFORT},
    )
    GUARANTEED_NOT_DELAYED = (
        "restarts the containers of pods that are Guaranteed at once",
        {"undelayed_qos": QosClass.GUARANTEED},
    )
    BEST_EFFORT_NOT_DELAYED = (
        "restarts the containers of pods that are BestEffort at once",
        {"undelayed_qos": QosClass.BEST_EFFORT},
    )

    # Counters
    SHARED_BY_PLACE = (
        "keeps one counter for an init container and a regular container at the same place",
        {"keyed_by_kind": False},
    )
    FROM_LAST_EXIT_OF_POD = (
        "measures the delay from the last exit of any container of the pod",
        {"from_last_exit_of_pod": True},
    )
    LOST_WITH_KILL_OF_ANOTHER = (
        "loses the counters of a pod's other containers when it has killed one",
        {"sibling_forgets": "killed"},
    )
    LOST_WITH_SANDBOX = "loses the counters of a pod that gets another sandbox", {"sandbox_forgets": True}
    LOST_IN_RESET = "loses the counters of a pod on RestartAllContainers", {"reset_forgets": True}

    # Which container restarts
    RULES_NOT_AFTER_KILL = "does not heed rules when it has killed the container", {"rules_after_kill": False}
    RULES_NOT_ON_OOM = "does not heed rules when a container ran out of memory", {"rules_on_oom": False}
    RULES_OF_FIRST_ONLY = "heeds the rules of the first container of a pod only", {"rules_of": "first only"}
    RULES_OF_FIRST_FOR_ALL = "takes the rules of a pod's first container for all", {"rules_of": "first for all"}
    SIDECARS_DONE_AFTER_0 = "leaves a sidecar dead that exited with 0", {"sidecars_done_after_0": "always"}
    SIDECARS_DONE_ON_FAILURE = (
        "leaves a sidecar dead that exited with 0 in pods under OnFailure",
        {"sidecars_done_after_0": "on failure"},
    )
    SIDECARS_BESIDE_RUNNING = (
        "restarts no sidecar while no regular container runs",
        {"sidecars_beside_running_only": True},
    )
    ALWAYS_AS_ON_FAILURE = (
        "leaves a container dead that exited with 0 under Always",
        {"always_ends_with_0": "always"},
    )
    OWN_ALWAYS_AS_ON_FAILURE = (
        "leaves a container with a policy Always of its own dead after an exit with 0",
        {"always_ends_with_0": "own"},
    )
    OWN_ON_FAILURE_AS_ALWAYS = (
        "restarts a container with a policy OnFailure of its own after an exit with 0",
        {"own_on_failure_is_always": True},
    )
    KILL_RESTARTS_NEVER = (
        "restarts a container under Never that it has killed itself",
        {"kill_restarts_never": True},
    )
    KILL_HEEDS_CODE = (
        "goes by the exit code of a container that it has killed",
        {"kill_heeds_code": True},
    )
    REFUSED_LEFT = "leaves a container dead whose start was refused", {"leaves_refused": "all"}
    REFUSED_INIT_LEFT = "leaves an init container dead whose start was refused", {"leaves_refused": "init"}
    REFUSED_SIDECAR_LEFT = "leaves a sidecar dead whose start was refused", {"leaves_refused": "sidecars"}
    REFUSED_RETRIED = "starts a container under Never again whose start was refused", {"retries_refused": True}
    REFUSED_NOT_DELAYED = "tries a refused start again at once", {"delays_refused": False}
    REFUSED_NOT_COUNTED = "counts no restart after a refused start", {"counts_refused": False}
    READINESS_KILLS = "kills a container whose readiness probe fails", {"readiness_kills": True}
    PROBE_KILLS_ALL = "kills the regular containers of a pod when a probe of one fails", {"probe_kills_all": True}

    # RestartAllContainers
    RESETS_NOT_ON_ZERO = "carries no RestartAllContainers out after an exit with 0", {"resets_on_zero": False}
    RESETS_NOT_BY_NOT_IN = "carries no RestartAllContainers out by a rule with NotIn", {"resets_by_not_in": False}
    RESETS_BY_ANY_RULE = (
        "takes every rule of a container with RestartAllContainers for that",
        {"resets_by_any_rule": True},
    )
    RESET_SPARES_DONE = (
        "leaves containers that have succeeded as they are on RestartAllContainers",
        {"reset_spares_done": True},
    )
    RESET_HEEDS_GRACE = "gives containers their pod's grace period in RestartAllContainers", {"reset_grace_s": None}
    RESET_EMPTIES_VOLUMES = "empties the volumes of a pod on RestartAllContainers", {"reset_empties_volumes": True}

    # Statements
    STARTED_AT_FIRST = (
        "states as startedAt of a running container that of its first instance",
        {"started_at_first": True},
    )
    CONTAINER_ID_BEHIND = "states the container id of the instance before", {"names_container": "the one before"}
    CONTAINER_ID_MISSING = "states no container ids", {"names_container": "none"}
    WAITS_ON = "states that a container waits that runs again after a delay", {"waits_on": True}
    START_TIME_MOVES = "states the last start of a container as the pod's startTime", {"start_time_moves": True}
    SIDECARS_KEEP_POD = "states the phase Running of a pod that has ended with sidecars", {"sidecars_keep_pod": True}
    SIDECAR_CODES_COUNT = (
        "states the phase Failed of a pod that succeeded and whose sidecar has failed",
        {"sidecar_codes_count": True},
    )
    FAILED_ONCE_ONE_FAILED = (
        "states the phase Failed once one container has failed for good",
        {"failed_once_one_failed": True},
    )
    PENDING_WITHOUT_SIDECAR = "states the phase Pending while a sidecar is down", {"pending_without_sidecar": True}
    READY_UNPROBED_WHILE_WAITING = (
        "states that a container without a readiness probe is ready that waits for its delay",
        {"ready_unprobed": "also while it waits"},
    )
    READY_UNPROBED_UNSTARTED = (
        "states that a container without a readiness probe is ready that has not started",
        {"ready_unprobed": "before it has started"},
    )
    READY_UNPROBED_ONCE = (
        "states that a container without a readiness probe is not ready once it has restarted",
        {"ready_unprobed": "in its first life"},
    )
    DONE_INIT_UNREADY = (
        "states that an init container is not ready that has succeeded",
        {"ready_unprobed": "no init containers"},
    )
    SCHEDULED_UNSTATED = "does not state that a pod is scheduled", {"initialized": "without PodScheduled"}
    INITIALIZED_AT_ONCE = (
        "states that a pod is initialized whose init containers are not done",
        {"initialized": "at once"},
    )
    UNINITIALIZED_IN_DELAYS = (
        "states that a pod is not initialized while a container of it waits for its delay",
        {"initialized": "not in delays"},
    )
    SANDBOX_STATED_LATE = (
        "states that a pod has its sandbox only once the images are there",
        {"ready_to_start": "with the next sync"},
    )
    SANDBOX_UNSTATED = "never states that a pod has its sandbox", {"ready_to_start": "never"}
    READY_CONDITION_STAYS = (
        "states that a pod is ready that was ready once, whatever became of its containers",
        {"ready_condition": "stays"},
    )
    READY_TO_THE_END = (
        "states that a pod that was ready is ready once it has ended",
        {"ready_condition": "to the end"},
    )
    READY_CONDITION_OF_ANY = (
        "states that a pod is ready when one of its containers is",
        {"ready_condition": "any"},
    )
    READY_CONDITION_ONCE = (
        "states that a pod is not ready once a container of it has restarted",
        {"ready_condition": "never again"},
    )
    READY_CONDITION_UNCOMPLETED = (
        "states of a pod that has succeeded that its containers are unready",
        {"ready_condition": "unready at the end"},
    )

    # What meets something else
    TRIGGERS_TOGETHER_TWICE = (
        "restarts all containers twice when two trigger RestartAllContainers at once",
        {"triggers_together": "two"},
    )
    TRIGGERS_TOGETHER_LOST = (
        "does not carry RestartAllContainers out when two containers trigger it at once",
        {"triggers_together": "none"},
    )
    SIDECARS_NOT_AWAITED_AFTER_RESET = (
        "starts what stands behind a sidecar after RestartAllContainers before its startup probe has succeeded",
        {"sidecars_after_reset": "not awaited"},
    )
    SIDECARS_NEVER_STARTED_AFTER_RESET = (
        "asks the startup probe of a sidecar no more after RestartAllContainers",
        {"sidecars_after_reset": "never started"},
    )
    EPHEMERALS_FAIL_POD = (
        "states that a pod has failed that has succeeded beside an ephemeral container that has not",
        {"ephemerals_fail_pod": True},
    )
    INITS_SHARE_COUNTER = "counts the restarts of all init containers of a pod together", {"inits_share_counter": True}
    FIRST_INIT_RETRIED_ONLY = "restarts only the first init container after a failure", {"retries_inits": "first"}
    HOOKS_NOT_OF_SIDECARS = "runs no postStart hooks of sidecars", {"hooks_of_sidecars": False}
    STATIC_NOT_PROBED = "asks containers of static pods no probes", {"probes_static": False}
    RESIZE_AWAITS_DELAYS = (
        "restarts no container for a resize while another one of its pod crashes",
        {"resize_meets_delay": "late"},
    )
    RESIZE_FORGETS_DELAYS = (
        "forgets the counters of a pod when a resize restarts one of its containers",
        {"resize_meets_delay": "forgets"},
    )
    NEVER_RUNS_AGAIN_AT_RESTART = (
        "restarts containers under a policy Never of their own that have failed when it is restarted itself",
        {"reruns_never_at_restart": True},
    )
    DOWN_SIDECARS_HOLD_INIT = (
        "restarts no init container while a sidecar before it is down",
        {"down_sidecars_hold": "init"},
    )
    DOWN_SIDECARS_HOLD_SIDECARS = (
        "restarts no sidecar while one before it is down",
        {"down_sidecars_hold": "sidecars"},
    )
    SIDECARS_LEFT_AT_RESTART = (
        "leaves sidecars dead that had exited when it was restarted itself",
        {"sidecars_at_restart": "left"},
    )
    SIDECARS_COUNTED_ANEW_AT_RESTART = (
        "states restartCounts of sidecars from 0 on once it was restarted itself",
        {"sidecars_at_restart": "counted anew"},
    )
    RESETS_AFTER_START_UP_ONLY = (
        "does not carry RestartAllContainers out for a sidecar before a regular container has run",
        {"resets_before_start_up": False},
    )
    SIDECARS_READY_UNPROBED = (
        "states that a sidecar that runs is ready, whatever its probes say",
        {"sidecars_ready_unprobed": True},
    )
    EXIT_137_GROWS_TWICE = "takes two steps of the delay after an exit with 137", {"grows_twice": "exit code 137"}
