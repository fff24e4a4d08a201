"""Faults about containers in company: sidecars, init containers, neighbours, and what ends or probes them."""

from sim.behaviour import S
from sim.faults.fault import Fault


class CompanyFault(Fault):
    """What the kubelet makes of one container because of another, or because of how it ended."""

    # Delays
    RULE_DELAYS_FLAT = "leaves the delay as it is when a rule restarts a container", {"never_grows": "by rule"}
    ON_FAILURE_DELAYS_FLAT = "leaves the delay as it is under OnFailure", {"never_grows": "on failure"}
    SUCCESS_BY_RULE_DELAYS_FLAT = (
        "leaves the delay as it is when a rule restarts a container after an exit with 0",
        {"never_grows": "success by rule"},
    )
    OOM_DELAYS_FLAT = "leaves the delay as it is when a container ran out of memory", {"never_grows": "out of memory"}
    SECOND_CURVE_FORGOTTEN_AFTER_2_MIN = (
        "forgets the counter 2 minutes after the last start where the curve begins with 1 s",
        {"second_curve_expiry_ns": 120 * S},
    )
    STARTUP_KILLS_NOT_DELAYED = (
        "restarts a container at once that it has killed and that has a startup probe",
        {"delays_startup_kills": False},
    )

    # Rules and policies
    SEARCHES_VALUES = "finds an exit code in a rule only where the values ascend", {"searches_values": True}
    NOT_IN_TOGETHER = (
        "lets NotIn match only what none of a container's rules with NotIn lists",
        {"not_in_together": True},
    )
    NOT_IN_UP_TO_127 = "never applies NotIn to exit codes above 127", {"not_in_up_to": 127}
    RULES_END_AT_NOT_IN = "looks at no rule behind one with NotIn", {"rules_end_at_not_in": True}
    KILLS_BY_POD_POLICY = (
        "goes by the pod's policy when it has killed a container with a policy of its own",
        {"kills_by_pod_policy": True},
    )
    RESETS_UNDER_NEVER_ONLY = (
        "takes RestartAllContainers for Restart in pods that are not under Never",
        {"resets_under_never_only": True},
    )

    RESET_SPARES_WAITING = (
        "leaves a container that waits to its delay when it restarts all containers",
        {"reset_spares_waiting": True},
    )

    RESET_20_S_LATE_IN_LARGER_PODS = (
        "carries RestartAllContainers out 20 s late in pods with init containers or of more than two containers",
        {"reset_late_in_larger_ns": 20 * S},
    )

    CHANGES_HEED_POLICY = (
        "does not start a container under Never again whose image has changed",
        {"changes_heed_policy": True},
    )

    CHANGED_SIDECAR_STAYS = (
        "runs a sidecar on in its old image whose image has changed",
        {"changed_sidecar": "stays"},
    )
    CHANGED_SIDECAR_ENDS = (
        "ends a sidecar whose image has changed and does not start it again",
        {"changed_sidecar": "ends"},
    )
    CHANGED_SIDECAR_TAKES_ALONG = (
        "ends the regular containers of a pod when the image of a sidecar has changed",
        {"changed_sidecar": "takes along"},
    )

    # Probes
    INITIAL_DELAY_SINCE_FIRST_START = (
        "counts initialDelaySeconds from the first start of a container",
        {"initial_delay": "since the first start"},
    )
    FIRST_QUESTIONS_LATE = "asks each probe 8 s late for the first time in each life", {"initial_delay": "8 s more"}
    INITIAL_DELAY_HALVED = "waits for half of initialDelaySeconds", {"initial_delay": "halved"}
    INITIAL_DELAY_IGNORED = "ignores initialDelaySeconds", {"initial_delay": "ignored"}

    PROBE_GRACE_IGNORED = (
        "gives a container that a probe has killed its pod's grace period",
        {"probe_grace": "the pod's"},
    )
    PROBE_GRACE_IF_LONGER = (
        "gives a container that a probe has killed the longer of the grace periods of pod and probe",
        {"probe_grace": "the longer"},
    )
    PROBE_GRACE_IF_SHORTER = (
        "gives a container that a probe has killed the shorter of the grace periods of pod and probe",
        {"probe_grace": "the shorter"},
    )
    PROBE_GRACE_NONE = (
        "gives a container no time to end that a probe with a grace period of its own has killed",
        {"probe_grace": "none"},
    )
    PROBE_GRACE_FOR_DELETIONS = (
        "gives a container of a deleted pod the grace period of its probe",
        {"probe_grace": "for every kill"},
    )
    NO_HOOK_AFTER_FAILURE = (
        "runs no preStop hook when it ends a container whose probe has failed",
        {"runs_hooks": "not after a failure"},
    )
    NO_HOOK_AT_DELETION = ("runs no preStop hook when it ends a deleted pod", {"runs_hooks": "not at the end"})
    HOOK_IN_FIRST_LIFE = (
        "runs a preStop hook in the first life of a container only",
        {"runs_hooks": "in the first life"},
    )
    SIDECARS_END_AS_DECLARED = (
        "ends sidecars in the order in which they are declared",
        {"ends_sidecars": "as declared"},
    )
    SIDECARS_END_FIRST = ("ends sidecars before the other containers", {"ends_sidecars": "first"})
    SIDECARS_END_BESIDE_OTHERS = ("ends sidecars beside the other containers", {"ends_sidecars": "beside others"})
    RESIZED_HARD = ("ends a container for a resize without asking it to end", {"resizes_hard": True})
    SILENCE_SUCCEEDS = ("takes a request over HTTP that nobody answers for a success", {"silence_succeeds": True})
    HTTP_IN_FIRST_LIFE = (
        "asks probes over HTTP in the first life of a container only",
        {"http_in_first_life": True},
    )
    PERIOD_OF_FIRST_PROBE = (
        "asks each probe of a container with the period of the first",
        {"periods": "of the first"},
    )
    HOOK_BESIDE_GRACE = (
        "does not take the time of a preStop hook off the grace period",
        {"hook_in_grace": False},
    )
    GRACE_30_S = "gives every container 30 s to end", {"probe_grace": "30 s"}

    READINESS_ENDS_WITH_POD = (
        "asks no readiness probes while a pod ends",
        {"probes_at_end": "none"},
    )
    LIVENESS_OUTLIVES_POD = (
        "asks liveness and startup probes while a pod ends",
        {"probes_at_end": "all"},
    )
    READINESS_BY_ITS_PERIOD = (
        "asks a readiness probe after its period when the startup probe has succeeded",
        {"readiness_follows_start": False},
    )
    START_UNNOTICED = (
        "does not look at a pod when a startup probe has succeeded",
        {"start_is_noticed": False},
    )
    STARTUP_GOES_ON = "asks a startup probe on and on after it has succeeded", {"startup_ends": False}
    STARTUP_ENDS_UNDER_NEVER = (
        "ends the startup probe of a sidecar under Never with its first exit",
        {"startup_outlives_exits": "not under Never"},
    )
    WORKERS_END_AT_KNOWN = (
        "begins no probe again behind a container whose probe has gone on",
        {"adds_workers": "before a known one"},
    )

    SUCCESS_THRESHOLD_IGNORED = "takes a container for ready after one success", {"ready_after": "one"}
    SUCCESS_THRESHOLD_ONE_MORE = (
        "takes a container for ready after one success more than the threshold",
        {"ready_after": "one more"},
    )
    SUCCESSES_ADD_UP = (
        "counts successes of a readiness probe that are not in a row",
        {"ready_after": "in any order"},
    )
    STAYS_READY = (
        "takes a container that was ready for ready at its restart, until its probe fails",
        {"stays_ready": True},
    )
    UNREADY_AFTER_RESTART = (
        "states that a container is not ready after its own restart until its readiness probe succeeds again",
        {"keeps_at_restart": "started"},
    )
    UNSTARTED_AFTER_RESTART = (
        "states that a container has not started after its own restart until its startup probe succeeds again",
        {"keeps_at_restart": "nothing"},
    )
    STARTED_BEFORE_RESTART = (
        "takes a container for started at its own restart that had started in the life before",
        {"keeps_at_restart": "more"},
    )
    LEAST_THRESHOLD = (
        "judges each probe by the least failureThreshold of its container's probes",
        {"thresholds": "least"},
    )
    MOST_THRESHOLD = (
        "judges each probe by the largest failureThreshold of its container's probes",
        {"thresholds": "most"},
    )
    FAILURES_SHARED = "counts the failures of all probes of a container together", {"failures_shared": True}
    STARTED_BY_ANY_LIFE = (
        "states that a container has started whose startup probe succeeded before its restart",
        {"states_started": "by any life"},
    )
    STARTED_WHILE_WAITING = (
        "states that a container has started that waits for its delay",
        {"states_started": "ever"},
    )
    STARTED_UNPROBED = (
        "states that a container has started before its startup probe has succeeded",
        {"states_started": "running"},
    )
    NEVER_STARTED = "states of no container that it has started", {"states_started": "never"}

    # Hooks that fail
    HOOK_FAILURE_IGNORED = "kills no container whose postStart hook fails", {"kills_by_hook_ns": (None, None)}
    HOOK_FAILURE_IGNORED_LATER = (
        "kills a container whose postStart hook fails at its first start only",
        {"kills_by_hook_ns": (0, None)},
    )
    HOOK_KILLS_LATE = (
        "kills a container 30 s after its postStart hook has failed",
        {"kills_by_hook_ns": (30 * S, 30 * S)},
    )
    HOOK_KILLS_NOT_DELAYED = "restarts a container at once whose postStart hook failed", {"delays_hook_kills": False}
    HOOK_KILLS_NOT_RESTARTED = "restarts no container whose postStart hook failed", {"restarts_hook_kills": False}

    # What is left of exited containers
    PREVIOUS_LOG_LOST = "removes the log of the instance before at each restart", {"drops_previous_log": "always"}
    PREVIOUS_LOG_OF_SUCCESS_LOST = (
        "removes the log of an instance that exited with 0 at its restart",
        {"drops_previous_log": "after a success"},
    )
    PREVIOUS_LOG_OF_KILL_LOST = (
        "removes the log of an instance that it has killed at its restart",
        {"drops_previous_log": "after a kill"},
    )
    PREVIOUS_LOG_LOST_LATER = (
        "removes the log of the instance before from the seventh restart on",
        {"drops_previous_log": "from the seventh on"},
    )
    PREVIOUS_LOG_OF_INIT_LOST = (
        "removes the log of the instance before of an init container",
        {"drops_previous_log": "init"},
    )
    PREVIOUS_LOG_LOST_IN_COMPANY = (
        "removes the log of the instance before in pods of several containers",
        {"drops_previous_log": "in company"},
    )
    PREVIOUS_LOG_OF_OOM_LOST = (
        "removes the log of an instance that ran out of memory at its restart",
        {"drops_previous_log": "out of memory"},
    )
    OOM_NOT_STATED = "states an error where a container ran out of memory", {"states_out_of_memory": "never"}
    OOM_NOT_IN_LAST_STATE = (
        "states an error as the last state of a container that ran out of memory",
        {"states_out_of_memory": "not in the last state"},
    )
    OOM_FOR_EVERY_KILL = "states every exit with 137 as out of memory", {"states_out_of_memory": "every exit with 137"}

    # The active deadline
    DEADLINE_IGNORED = "ignores activeDeadlineSeconds", {"deadline": "ignored"}
    DEADLINE_HALVED = "ends a pod after half of its activeDeadlineSeconds", {"deadline": "halved"}
    DEADLINE_LATE = "ends a pod 20 s after its active deadline", {"deadline": "late"}
    DEADLINE_SINCE_EACH_START = (
        "counts activeDeadlineSeconds from the last start of a container",
        {"deadline": "since each start"},
    )
    DEADLINE_KILLS_ONLY = (
        "kills the containers of a pod at its active deadline and goes on restarting them",
        {"deadline": "kills only"},
    )
    DEADLINE_STATED_ONLY = (
        "states that a pod whose active deadline has passed failed and goes on restarting it",
        {"deadline": "stated only"},
    )
    DEADLINE_UNREASONED = (
        "states no reason for the failure of a pod whose active deadline has passed",
        {"deadline": "unreasoned"},
    )

    # Sidecars
    SIDECAR_LIVENESS_IGNORED = (
        "does not kill a sidecar whose liveness probe fails",
        {"deaf_to_sidecars": "liveness"},
    )
    SIDECAR_STARTUP_IGNORED = "does not kill a sidecar whose startup probe fails", {"deaf_to_sidecars": "startup"}
    SIDECARS_NOT_AWAITED = (
        "starts what stands behind a sidecar before its startup probe has succeeded",
        {"awaits_sidecars": False},
    )
    SIDECARS_HELD_BY_INIT = (
        "restarts no sidecar before the init containers are done",
        {"init_holds_sidecars": True},
    )
    REGULAR_HELD_BY_SIDECARS = (
        "restarts no regular container while a sidecar is down",
        {"sidecars_hold_regular": True},
    )

    # Neighbours, and its own restart
    DONE_TAKEN_ALONG = (
        "runs containers that are done again when another one of their pod restarts",
        {"restart_takes_done_along": True},
    )
    HELD_ENDS_STARTS = (
        "starts nothing that stands behind a container that waits for its delay",
        {"held_ends_starts": True},
    )
    INIT_STARTS_OVER = (
        "runs the init containers before one again when it restarts that one",
        {"init_starts_over": True},
    )
    INIT_REPEATED_AT_RESTART = (
        "runs init containers again when it is restarted itself while no regular container runs",
        {"repeats_init_at_restart": True},
    )
    SIDECARS_KILLED_AT_RESTART = (
        "kills running sidecars when it is restarted itself",
        {"kills_at_restart": "sidecars"},
    )
    PROBES_LOST_AT_RESTART = (
        "asks running containers no probes once it was restarted itself",
        {"probes_end_at_restart": True},
    )
