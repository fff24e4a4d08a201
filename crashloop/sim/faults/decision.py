"""Faults of the decision: which exited container restarts."""

from crashloop.sim.behaviour import S
from crashloop.sim.faults.fault import Fault
from crashloop.spec.pod import RestartPolicy


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
    INIT_NOT_AWAITED = "starts regular containers before the init containers are done", {"waits_for_init": False}
    SIDECARS_LAST_BY_GATE = (
        "starts sidecars after the regular containers where the gate of restart rules is on",
        {"rules_gate_delays_sidecars": True},
    )
    EPHEMERAL_REPEATED = "restarts ephemeral containers", {"repeats_ephemeral": True}
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
