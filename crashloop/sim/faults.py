"""Planted faults of the simulated kubelet, one small change per row."""

from collections.abc import Iterable
from enum import Enum
from typing import Any

import msgspec

from crashloop.sim.behaviour import CORRECT, Behaviour, S


class Fault(Enum):
    """A way to be wrong: the sentence says what such a kubelet does, `change` what that is in terms of Behaviour."""

    def __init__(self, sentence: str, change: dict[str, Any]) -> None:
        self.sentence = sentence
        self.change = change

    # The curve
    BACKOFF_ABSENT = "restarts every container at once", {"delays": False}
    FACTOR_1_5 = "multiplies the delay by 1.5 only", {"factor": 1.5}
    FACTOR_3 = "multiplies the delay by 3", {"factor": 3.0}
    LINEAR_GROWTH = "adds the initial delay instead of doubling", {"linear": True}
    CAP_IGNORED = "lets the delay grow beyond the maximum", {"capped": False}
    CAP_ONE_STEP_LATE = "doubles once more after the maximum is near", {"cap_before_step": True}
    CAP_TOO_LOW = "stops growing at 60 % of the maximum", {"cap_share": 0.6}
    MAX_IGNORED = "does not heed maxContainerRestartPeriod", {"heeds_max": False}
    REDUCED_DECAY_IGNORED = (
        "does not heed the gate ReduceDefaultCrashLoopBackOffDecay",
        {"heeds_reduced_decay": False},
    )
    INITIAL_5S = "begins with 5 s", {"initial_ns": 5 * S}
    INITIAL_20S = "begins with 20 s", {"initial_ns": 20 * S}
    INITIAL_NOT_LOWERED = "begins with 10 s although the maximum is lower", {"lowers_initial": False}
    FIRST_RESTART_DELAYED = "delays the first restart already", {"first_is_free": False}
    EARLY_100_MS = "restarts 100 ms before the delay has passed", {"early_ns": S // 10, "prompt": True}
    EARLY_1_S = "restarts 1 s before the delay has passed", {"early_ns": S, "prompt": True}
    LATE_TWICE = "waits twice as long as is due", {"late_factor": 2.0}
    JITTERED = "draws each delay at random, up to 40 % shorter", {"jitter": 0.4}
    FROM_START = "measures the delay from the start of the instance that exited", {"from_start": True}
    EXIT_0_NOT_DELAYED = "restarts a container that exited with 0 at once", {"delays_success": False}
    EXIT_0_RESETS = "resets the counter when a container exits with 0", {"success_forgets": True}
    DELAY_BY_EXIT_CODE = "halves the delay after exit codes of 128 and above", {"code_factor": 0.5}

    # The counter
    RESET_AFTER_5_MIN = "forgets the counter 5 minutes after the last start", {"expiry_ns": 300 * S}
    RESET_AFTER_TWICE_MAX = "forgets the counter after twice the maximum", {"expiry_in_max": 2.0}
    RESET_AFTER_15_MIN = "keeps the counter for 15 minutes", {"expiry_ns": 900 * S}
    NEVER_RESETS = "never forgets a counter", {"expiry_ns": None}
    RESETS_AT_SYNC = "sets the delay back to the initial one at each pod sync", {"resets_at_sync": True}
    LOST_ON_STATUS = "loses the counter whenever it writes a status", {"forgets_on_status": True}
    LOST_ON_ANNOTATION = "loses the counter when an annotation changes", {"forgets_on_annotation": True}
    SHARED_BY_CONTAINERS = "keeps one counter for all containers of a pod", {"keyed_by_container": False}
    SHARED_BY_PODS = "keeps the counter of a deleted pod for one of the same name", {"keyed_by_uid": False}
    SURVIVES_RESTART = "keeps its counters over its own restart", {"survives_restart": True}

    # Which container restarts
    OPERATORS_SWAPPED = "takes In for NotIn and NotIn for In", {"operators_swapped": True}
    RULES_REVERSED = "lets the last matching rule win", {"rules_reversed": True}
    FIRST_VALUE_ONLY = "looks at the first exit code of a rule only", {"first_value_only": True}
    RULES_IGNORED = "does not heed restart rules", {"heeds_rules": False}
    RULES_SKIP_ZERO = "never applies a rule to exit code 0", {"rules_on_zero": False}
    RULES_TAKE_ZERO = "applies every rule to exit code 0", {"rules_on_zero": True}
    RULE_WITHOUT_BACKOFF = "restarts at once when a rule matched", {"rules_wait": False}
    CONTAINER_POLICY_IGNORED = (
        "lets the pod's restart policy decide for every container",
        {"heeds_container_policy": False},
    )
    INIT_POLICY_IGNORED = "does not heed the restart policy of init containers", {"heeds_init_policy": False}
    POD_POLICY_IGNORED = "treats containers without a policy as Always", {"heeds_pod_policy": False}
    ON_FAILURE_AS_ALWAYS = "restarts after exit 0 under OnFailure", {"on_failure_is_always": True}
    NEVER_RESTARTS_ONCE = "restarts a container under Never once", {"never_restarts_once": True}
    SIDECAR_RULES = "applies restart rules to sidecars", {"sidecar_rules": True}
    INIT_REPEATED = "runs a completed init container again", {"repeats_init": True}
    INIT_NOT_AWAITED = "starts regular containers before the init containers are done", {"waits_for_init": False}
    EPHEMERAL_REPEATED = "restarts ephemeral containers", {"repeats_ephemeral": True}
    RESET_SOURCE_ONLY = "restarts only the container that exited on RestartAllContainers", {"reset_scope": "source"}
    RESET_SKIPS_INIT = "leaves init containers out of RestartAllContainers", {"reset_scope": "regular"}
    RESET_LOSES_SANDBOX = "makes a new sandbox on RestartAllContainers", {"reset_keeps_sandbox": False}
    SIBLINGS_TOO = "restarts the other containers of a pod along with the one that exited", {"siblings_too": True}
    GIVES_UP = "leaves a container dead after its third restart", {"gives_up_after": 3}
    PROBES_IGNORED = "does not kill a container whose probe fails", {"heeds_probes": False}
    PROBE_TOLERATED = "kills only after three failures more than the threshold", {"extra_failures": 3}

    # How it restarts
    DOUBLE_START = "starts two instances of a container at once", {"starts_twice": True}
    START_BEFORE_EXIT = "starts the next instance before the last has exited", {"starts_ahead_ns": S // 2}
    NEW_SANDBOX = "makes a new sandbox for each restart", {"new_sandbox": True}
    KILLS_AT_RESTART = "kills running containers when it is restarted itself", {"kills_at_restart": True}

    # What it states
    COUNT_OFF_BY_ONE = "states a restartCount that is one too high", {"count_offset": 1}
    COUNT_ONE_LOW = "states a restartCount that is one too low", {"count_offset": -1}
    COUNT_SKIPS = "leaves a number out of restartCount", {"count_skips": True}
    COUNT_DECREASES = "lets restartCount fall back", {"count_drops": True}
    COUNT_STUCK = "states a restartCount of 1 for good", {"count_stuck": True}
    FAILED_WHILE_WAITING = (
        "states the phase Failed while a rule is about to restart a container",
        {"failed_while_waiting": True},
    )
    SUCCEEDED_AFTER_FAILURE = "states the phase Succeeded though a container failed", {"always_succeeded": True}
    FAILED_AFTER_SUCCESS = "states the phase Failed though every container exited with 0", {"always_failed": True}
    NEVER_ENDS = "states the phase Running for good", {"never_ends": True}
    WRONG_EXIT_CODE = "states an exit code that is one too high", {"exit_code_offset": 1, "last_exit_code_offset": 1}
    WRONG_LAST_EXIT_CODE = "states a wrong exit code of the previous instance", {"last_exit_code_offset": 1}
    FINISHED_5S_LATE = "states a finishedAt that is 5 s late", {"finished_offset_s": 5}
    FINISHED_5S_EARLY = "states a finishedAt that is 5 s early", {"finished_offset_s": -5}
    RUNNING_WHILE_DEAD = "states that a container runs that has exited", {"running_while_dead": True}
    LAST_STATE_LOST = "does not state how the previous instance ended", {"forgets_last_state": True}

    # Its configuration
    ACCEPTS_INVALID = "starts with a configuration that it has to refuse", {"accepts_invalid": True}
    REFUSES_VALID = "refuses a configuration that is valid", {"refuses_valid": True}
    RUNS_OTHER_MAX = "follows another maximum than it states in /configz", {"effective_share": 0.5}
    CONFIGZ_OTHER_MAX = "states another maximum in /configz than it follows", {"configz_share": 0.5}


def behaviour_of(faults: Iterable[Fault]) -> Behaviour:
    """A kubelet with these faults and no others. Raises ValueError if two of them change the same answer."""
    changes: dict[str, Any] = {}
    for fault in faults:
        both = changes.keys() & fault.change.keys()
        if both:
            raise ValueError(f"fault {fault.name}: another one changes {sorted(both)} already")
        changes |= fault.change
    return msgspec.structs.replace(CORRECT, **changes)
