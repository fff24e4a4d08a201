"""Faults of the decision which exited container restarts, and of the restart: what it does to container, pod and neighbours."""

from crashloop.spec.pod import RestartPolicy
from sim.behaviour import S
from sim.faults.fault import Fault


class DecisionFault(Fault):
    """How restart rules and restart policies are read."""

    # Restart rules
    OPERATORS_SWAPPED = "takes In for NotIn and NotIn for In", {"operators_swapped": True}
    RULES_REVERSED = "lets the last matching rule win", {"rules_reversed": True}
    FIRST_RULE_ONLY = "looks at the first rule only", {"first_rule_only": True}
    FIRST_VALUE_ONLY = "looks at the first exit code of a rule only", {"first_value_only": True}
    LAST_VALUE_IGNORED = "does not look at the last of several exit codes of a rule", {"last_value_ignored": True}
    RULES_IGNORED = "does not heed restart rules", {"heeds_rules": False}
    RULES_SKIP_ZERO = "never applies a rule to exit code 0", {"rules_on_zero": False}
    RULES_TAKE_ZERO = "applies every rule to exit code 0", {"rules_on_zero": True}
    RULES_SEE_PREVIOUS_CODE = "applies rules to the exit code of the instance before", {"rules_see_previous": True}
    NOT_IN_ANY = "applies NotIn if one of its exit codes differs", {"not_in_any": True}
    NOT_IN_SKIPS_ZERO = "never applies NotIn to exit code 0", {"not_in_skips_zero": True}
    RULES_UP_TO_50 = "does not heed rules at exit codes above 50", {"rules_up_to_code": 50}
    RULES_UP_TO_127 = "does not heed rules at exit codes above 127", {"rules_up_to_code": 127}
    RULES_NOT_ON_INIT = "does not heed the rules of init containers", {"rules_on_init": False}
    RULES_WHEN_ALONE = "heeds rules only where a pod has one container", {"rules_when_alone": True}
    RULES_UNDER_NEVER = "heeds rules only in pods under Never", {"rules_under_never_only": True}
    RULES_UP_TO_5_S = "does not heed rules when an instance has run for more than 5 s", {"rules_up_to_run_ns": 5 * S}
    FIRST_VALUES_ONLY = "looks at the first four exit codes of a rule only", {"most_values": 4}
    FIRST_RULES_ONLY = "looks at the first two rules of a container only", {"most_rules": 2}
    RULES_UP_TO_254 = "does not heed rules at exit code 255", {"rules_up_to_code": 254}
    RULES_5_TIMES = "does not heed rules after the fifth restart", {"rules_up_to_restart": 5}
    RULES_12_TIMES = "does not heed rules after the twelfth restart", {"rules_up_to_restart": 12}
    RULES_WITHOUT_INIT = "heeds rules only in pods without init containers", {"rules_without_init": True}
    RULES_UNDER_OWN_NEVER = (
        "heeds the rules of a container only if its own policy is Never",
        {"rules_under_own_never_only": True},
    )
    RULES_LOST_AT_RESTART = "does not heed rules once it was restarted", {"rules_in_first_process": True}
    SIDECAR_RULES = "applies restart rules to sidecars", {"sidecar_rules": True}

    # Restart policies
    CONTAINER_POLICY_IGNORED = (
        "lets the pod's restart policy decide for every container",
        {"heeds_container_policy": False},
    )
    CONTAINER_POLICY_IGNORED_UNDER_ALWAYS = (
        "does not heed the policy of a container without a matching rule in pods under Always",
        {"container_policy_ignored_under": RestartPolicy.ALWAYS},
    )
    CONTAINER_POLICY_IGNORED_UNDER_ON_FAILURE = (
        "does not heed the policy of a container without a matching rule in pods under OnFailure",
        {"container_policy_ignored_under": RestartPolicy.ON_FAILURE},
    )
    CONTAINER_POLICY_IGNORED_UNDER_NEVER = (
        "does not heed the policy of a container without a matching rule in pods under Never",
        {"container_policy_ignored_under": RestartPolicy.NEVER},
    )
    INIT_POLICY_IGNORED = "does not heed the restart policy of init containers", {"heeds_init_policy": False}
    POD_POLICY_IGNORED = "treats containers without a policy as Always", {"heeds_pod_policy": False}
    ON_FAILURE_AS_ALWAYS = "restarts after exit 0 under OnFailure", {"on_failure_is_always": True}
    ON_FAILURE_RESTARTS_0_ONCE = (
        "restarts after a first exit with 0 under OnFailure",
        {"on_failure_restarts_0_once": True},
    )
    ON_FAILURE_AS_ALWAYS_BY_GATE = (
        "restarts after exit 0 under OnFailure where the gate of restart rules is on",
        {"rules_gate_means_always": True},
    )
    ON_FAILURE_UP_TO_127 = "does not restart after exit codes above 127 under OnFailure", {"on_failure_up_to": 127}
    ON_FAILURE_NOT_OOM = "takes running out of memory for no failure under OnFailure", {"oom_is_failure": False}
    NEVER_RESTARTS_ONCE = "restarts a container under Never once", {"never_restarts_once": True}
    NEVER_RESTARTS_FROM_128 = "restarts after exit codes of 128 and above under Never", {"never_restarts_from": 128}
    GIVES_UP = "leaves a container dead after its third restart", {"gives_up_after": 3}
    GIVES_UP_AFTER_13 = "leaves a container dead after its 13th restart", {"gives_up_after": 13}

    # Init and ephemeral containers, probes
    SIDECARS_DEAD_UNDER_NEVER = (
        "does not restart the sidecars of pods under Never",
        {"sidecars_heed_pod_policy": True},
    )
    INIT_FAILS_UNDER_ON_FAILURE = (
        "ends a pod under OnFailure when an init container has failed",
        {"init_retried_on_failure": False},
    )
    RERUN_AT_RESTART = (
        "runs containers that are done again when it is restarted itself",
        {"reruns_at_restart": True},
    )
    LIVENESS_IN_FIRST_LIFE = (
        "asks the liveness probe of the first instance of a container only",
        {"liveness_in_first_life": True},
    )
    INIT_REPEATED = "runs a completed init container again", {"repeats_init": True}
    SANDBOX_BESIDE_INIT = (
        "starts regular containers beside the init containers in another sandbox",
        {"new_sandbox_inits": "beside"},
    )
    SANDBOX_FIRST_INIT_ONLY = (
        "runs only the first init container again in another sandbox",
        {"new_sandbox_inits": "first"},
    )
    SANDBOX_WITHOUT_INIT = "runs no init container again in another sandbox", {"new_sandbox_inits": "none"}
    INIT_NOT_AWAITED = "starts regular containers before the init containers are done", {"waits_for_init": False}
    SIDECARS_LAST_BY_GATE = (
        "starts sidecars after the regular containers where the gate of restart rules is on",
        {"rules_gate_delays_sidecars": True},
    )
    EPHEMERAL_REPEATED = "restarts ephemeral containers", {"repeats_ephemeral": True}
    EPHEMERAL_REPEATED_BESIDE = (
        "restarts an ephemeral container that has exited once another container of its pod restarts",
        {"repeats_ephemeral_beside": True},
    )
    EPHEMERAL_AWAITED = "ends a pod only once its ephemeral containers have ended", {"awaits_ephemerals": True}
    PROBES_IGNORED = "does not kill a container whose probe fails", {"heeds_probes": False}
    PROBE_FAILURES_ADD_UP = "counts probe failures that are not in a row", {"failures_add_up": True}
    PROBES_HALF_AS_OFTEN = "asks probes half as often as they say", {"probe_period_factor": 2}
    PROBE_KILLS_EARLY = "kills after one probe failure fewer than the threshold", {"extra_failures": -1}
    PROBE_KILLS_ONE_LATE = "kills after one probe failure more than the threshold", {"extra_failures": 1}
    PROBE_TAKES_LATE_ANSWERS = "takes a probe's answer after the timeout", {"accepts_late_answers": True}
    UNANSWERED_FAILS = (
        "counts an exec probe that the runtime does not carry out as a failure",
        {"without_runtime": "a failure"},
    )
    UNANSWERED_KILLS = (
        "kills at once for an exec probe that the runtime does not carry out",
        {"without_runtime": "fatal"},
    )
    UNANSWERED_ENDS_PROBES = (
        "probes a container no more once its runtime was away",
        {"without_runtime": "the last question"},
    )
    READY_FOR_GOOD = "takes a container that was ready once for ready", {"ready_for_good": True}
    NEVER_READY = "takes no container for ready", {"never_ready": True}
    READINESS_IGNORED = "takes every running container for ready", {"heeds_readiness": False}
    PROBE_TOLERATED = "kills only after three failures more than the threshold", {"extra_failures": 3}


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
    DELETION_AWAITS_VOLUMES = (
        "ends a pod that is deleted while it waits for its volumes only when it has given them up",
        {"deletion_awaits_volumes": True},
    )
    SIBLINGS_TOO = "restarts the other containers of a pod along with the one that exited", {"siblings_too": True}
    SIBLINGS_WAIT = "holds all exited containers of a pod back while one of them waits", {"siblings_wait": True}
    KILLS_HARD = "kills containers without asking them to end", {"kills_hard": "everything"}
    KILLS_INIT_HARD = "kills init containers without asking them to end", {"kills_hard": "init containers"}
    KILLS_STATIC_HARD = "kills containers of static pods without asking them to end", {"kills_hard": "static pods"}
    KILLS_HARD_AFTER_RESET = (
        "kills containers without asking them to end once RestartAllContainers has restarted their pod",
        {"kills_hard": "reset pods"},
    )
    KILLS_AT_RESTART = "kills running containers when it is restarted itself", {"kills_at_restart": "everything"}
    PROBED_KILLED_AT_RESTART = (
        "kills running containers with a liveness or startup probe when it is restarted itself",
        {"kills_at_restart": "probed"},
    )
    HOOKED_KILLED_AT_RESTART = (
        "kills running containers with a postStart hook when it is restarted itself",
        {"kills_at_restart": "hooked"},
    )
    CHANGED_KILLED_AT_RESTART = (
        "kills running containers whose image or size was changed before when it is restarted itself",
        {"kills_at_restart": "changed"},
    )

    # What has ended and whose record is lost
    FORGOTTEN_INIT_TOO = (
        "runs a completed init container again whose record the runtime has lost",
        {"forgotten": "init too"},
    )
    FORGOTTEN_TAKES_ALONG = (
        "restarts what runs when the runtime has lost the record of what had ended beside it",
        {"forgotten": "what runs as well"},
    )
    FORGOTTEN_NEW_SANDBOX = (
        "makes a new sandbox when the runtime has lost the record of what had ended",
        {"forgotten": "all in a new sandbox"},
    )

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
    SIDECARS_RESTARTED_AT_END = "restarts a sidecar that exits while its pod ends", {"ending_restarts": "sidecars"}
    CONTAINERS_RESTARTED_AT_END = (
        "restarts a container under Always that exits while its pod ends",
        {"ending_restarts": "regular"},
    )
    RULES_APPLIED_AT_END = (
        "heeds restart rules of a container that exits while its pod ends",
        {"ending_restarts": "ruled"},
    )
    DELETED_RESTARTED = "restarts a container once while its pod is being deleted", {"restarts_deleted": True}
    DONE_REJECTED_AT_RESTART = (
        "rejects pods that have succeeded when it is restarted itself",
        {"done_at_restart": "rejected"},
    )
    DONE_RUNS_AT_RESTART = (
        "runs pods that have succeeded again when it is restarted itself",
        {"done_at_restart": "runs"},
    )
    DONE_STATED_AT_RESTART = (
        "states pods that have succeeded as running when it is restarted itself",
        {"done_at_restart": "stated"},
    )
    DELETED_MEANWHILE_STAYS = (
        "does not end a pod that was deleted while itself or the runtime was away",
        {"ends_deleted_meanwhile": "never"},
    )
    KILLS_NOT_REPEATED = (
        "does not end a container again whose end a restart of the runtime has broken off",
        {"repeats_kills": False},
    )
    DELETED_MEANWHILE_LATE = (
        "ends a pod that was deleted while itself or the runtime was away 45 s late",
        {"ends_deleted_meanwhile": "late"},
    )
    DELETED_STAYS = (
        "never removes the object of a deleted pod once it was restarted itself",
        {"removes_deleted": "not after a restart"},
    )
    SIDECARS_NOT_SIGNALLED = (
        "lets the sidecars of a deleted pod run to the end of its grace period while one of them has not run yet",
        {"signals_waiting_sidecars": False},
    )

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
    RESET_FORGOTTEN_AT_RESTART = (
        "leaves what had exited to RestartAllContainers when it is restarted itself meanwhile",
        {"reset_at_restart": "forgotten"},
    )
    RESET_REPEATED_AT_RESTART = (
        "starts an init container of a pod with such a rule again that runs when it is restarted itself",
        {"reset_at_restart": "repeated"},
    )
    RESET_NOT_AWAITED_AT_RESTART = (
        "does not await the init containers after RestartAllContainers once it was restarted itself",
        {"reset_at_restart": "not awaited"},
    )
    RESET_NOT_OF_STATIC = "takes RestartAllContainers for Restart in static pods", {"static_resets": "none"}
    RESET_OF_STATIC_SOURCE_ONLY = (
        "restarts only the container that exited on RestartAllContainers in a static pod",
        {"static_resets": "source"},
    )
    RESET_OF_STATIC_SKIPS_INIT = (
        "leaves init containers out of RestartAllContainers in static pods",
        {"static_resets": "regular"},
    )
    RESET_RUNS_HOOKS = "runs preStop hooks to their end on RestartAllContainers", {"reset_runs_hooks": True}
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
