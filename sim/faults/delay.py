"""Faults of delays: which delay is due (the curve), whose counter it is, when it is forgotten, how punctual the restart is."""

from sim.behaviour import S
from sim.faults.fault import Fault
from sim.host import MS


class CurveFault(Fault):
    """How delays begin, grow and end, and for whom."""

    # Growth
    BACKOFF_ABSENT = "restarts every container at once", {"delays": False}
    FACTOR_1_5 = "multiplies the delay by 1.5 only", {"factor": 1.5}
    FACTOR_3 = "multiplies the delay by 3", {"factor": 3.0}
    LINEAR_GROWTH = "adds the initial delay instead of doubling", {"linear": True}
    JITTERED = "draws each delay at random, up to 40 % shorter", {"jitter": -0.4}
    JITTERED_UP = "draws each delay at random, up to 30 % longer", {"jitter": 0.3}
    FROM_DETECTION = "measures the delay from when it saw the exit", {"from_detection": True}
    FROM_WHOLE_SECOND = "measures the delay from the exit in whole seconds", {"from_whole_second": True}
    FREE_FROM_50TH = "delays no restart from the 50th on", {"free_from": 50}
    FROM_START = "measures the delay from the start of the instance that exited", {"from_start": True}

    # The maximum
    CAP_IGNORED = "lets the delay grow beyond the maximum", {"capped": False}
    CAP_ONE_STEP_LATE = "doubles once more after the maximum is near", {"cap_before_step": True}
    CAP_TOO_LOW = "stops growing at 60 % of the maximum", {"cap_share": 0.6}
    CAP_10_PERCENT_SHORTER = "draws each delay at the maximum at random, up to 10 % shorter", {"cap_jitter": -0.1}
    CAP_10_PERCENT_LONGER = "draws each delay at the maximum at random, up to 10 % longer", {"cap_jitter": 0.1}
    CAP_40_PERCENT_LONGER = "draws each delay at the maximum at random, up to 40 % longer", {"cap_jitter": 0.4}
    CAP_ON_POD_TOTAL = "caps the sum of the delays of a pod's containers at the maximum", {"caps_pod_total": True}
    MAX_IGNORED = "does not heed maxContainerRestartPeriod", {"heeds_max": False}
    MAX_IN_TENS = "rounds the maximum down to a multiple of 10 s", {"max_step_ns": 10 * S}
    MAX_IN_SECONDS = "rounds the maximum down to whole seconds", {"max_step_ns": S}
    MAX_EVEN = "rounds the maximum down to a multiple of 2 s", {"max_step_ns": 2 * S}

    # The beginning
    REDUCED_DECAY_IGNORED = (
        "does not heed the gate ReduceDefaultCrashLoopBackOffDecay",
        {"heeds_reduced_decay": False},
    )
    REDUCED_MAX_KEPT = (
        "keeps the maximum of 300 s where it reduces the initial delay",
        {"reduced_lowers_max": False},
    )
    REDUCED_CAPS_MAX = (
        "caps a configured maximum at 60 s where it reduces the initial delay",
        {"reduced_caps_period": True},
    )
    INITIAL_5S = "begins with 5 s", {"initial_ns": 5 * S}
    INITIAL_20S = "begins with 20 s", {"initial_ns": 20 * S}
    INITIAL_NOT_LOWERED = "begins with 10 s although the maximum is lower", {"lowers_initial": False}
    FIRST_RESTART_DELAYED = "delays the first restart already", {"free_restarts": 0}
    TWO_FREE = "does not delay the first two restarts", {"free_restarts": 2}
    THREE_FREE = "does not delay the first three restarts", {"free_restarts": 3}

    # By exit code, rule and kind of container
    EXIT_0_NOT_DELAYED = "restarts a container that exited with 0 at once", {"delays_success": False}
    EXIT_0_10_PERCENT_SHORT = "waits 10 % less after an exit with 0", {"success_factor": 0.9}
    EXIT_0_20_PERCENT_LONG = "waits 20 % more after an exit with 0", {"success_factor": 1.2}
    DELAY_BY_EXIT_CODE = "halves the delay after exit codes of 128 and above", {"code_factor": 0.5}
    CODES_FROM_128_NOT_DELAYED = "restarts at once after exit codes of 128 and above", {"code_factor": 0.0}
    RULE_WITHOUT_BACKOFF = "restarts at once when a rule matched", {"rule_delay_ns": 0}
    RULE_DELAY_1_S = "waits 1 s whenever a rule matched, but for the first restart", {"rule_delay_ns": S}
    RULE_DELAY_3_S = "waits 3 s whenever a rule matched, but for the first restart", {"rule_delay_ns": 3 * S}
    RULE_DELAY_5_S = "waits 5 s whenever a rule matched, but for the first restart", {"rule_delay_ns": 5 * S}
    INIT_NOT_DELAYED = "restarts init containers at once", {"delays_init": False}
    SIDECARS_NOT_DELAYED = "restarts sidecars at once", {"delays_sidecars": False}
    OOM_NOT_DELAYED = "restarts a container that ran out of memory at once", {"delays_oom": False}
    KILLED_NOT_DELAYED = "restarts a container at once that it has killed itself", {"delays_killed": False}
    THIRD_NOT_DELAYED = "delays the first two containers of a pod only", {"delayed_containers": 2}
    SECOND_NOT_DELAYED = "delays the first container of a pod only", {"delayed_containers": 1}


class CounterFault(Fault):
    """What becomes of the number from which the next delay follows."""

    # By time
    RESET_AFTER_60_S = "forgets the counter 60 s after the last start", {"expiry_ns": 60 * S}
    RESET_AFTER_120_S = "forgets the counter 120 s after the last start", {"expiry_ns": 120 * S}
    RESET_AFTER_5_MIN = "forgets the counter 5 minutes after the last start", {"expiry_ns": 300 * S}
    RESET_AFTER_400_S = "forgets the counter 400 s after the last start", {"expiry_ns": 400 * S}
    RESET_AFTER_570_S = "forgets the counter 570 s after the last start", {"expiry_ns": 570 * S}
    RESET_AFTER_585_S = "forgets the counter 585 s after the last start", {"expiry_ns": 585 * S}
    RESET_AFTER_595_S = "forgets the counter 595 s after the last start", {"expiry_ns": 595 * S}
    RESET_AFTER_605_S = "keeps the counter for 605 s", {"expiry_ns": 605 * S}
    RESET_AFTER_612_S = "keeps the counter for 612 s", {"expiry_ns": 612 * S}
    RESET_AFTER_15_MIN = "keeps the counter for 15 minutes", {"expiry_ns": 900 * S}
    RESET_AFTER_TWICE_MAX = "forgets the counter after twice the maximum", {"expiry_in_max": 2.0}
    NEVER_RESETS = "never forgets a counter", {"expiry_ns": None}

    # By what happens
    RESETS_AT_SYNC = "sets the delay back to the initial one at each pod sync", {"resets_at_sync": True}
    DOUBLES_AT_LOOK = "doubles the delay at each look at a waiting container", {"doubles_at_look": True}
    LOST_ON_STATUS = "loses the counter whenever it writes a status", {"forgets_on_status": True}
    LOST_ON_ANNOTATION = "loses the counter when an annotation changes", {"forgets_on_annotation": True}
    LOST_ON_LABEL = "loses the counter when a label changes", {"forgets_on_label": True}
    EXIT_0_RESETS = "resets the counter when a container exits with 0", {"success_forgets": True}
    LOST_ON_OTHER_CODE = (
        "loses the counter when an exit code differs from the one before",
        {"code_change_forgets": True},
    )
    LOST_EVERY_4TH = "loses the counter at every 4th restart", {"forgets_every": 4}
    LOST_EVERY_8TH = "loses the counter at every 8th restart", {"forgets_every": 8}
    LOST_EVERY_13TH = "loses the counter at every 13th restart", {"forgets_every": 13}
    RUN_OF_5_S_RESETS = "forgets the counter after a run of 5 s", {"forgets_after_run_ns": 5 * S}
    RUN_OF_10_S_RESETS = "forgets the counter after a run of 10 s", {"forgets_after_run_ns": 10 * S}
    RUN_OF_1_MIN_RESETS = "forgets the counter after a run of one minute", {"forgets_after_run_ns": 60 * S}
    SIBLING_RESETS = (
        "forgets the counters of a pod's other containers when it restarts one",
        {"sibling_forgets": "always"},
    )
    READY_RESETS = "forgets the counter of a container whose readiness probe succeeded", {"forgets_ready": True}
    SURVIVES_RESTART = "keeps its counters over its own restart", {"survives_restart": True}
    REBUILT_AT_RESTART = (
        "makes counters of running containers from their restartCounts when it is restarted itself",
        {"rebuilds_running": True},
    )

    # By what it belongs to
    SHARED_BY_CONTAINERS = "keeps one counter for all containers of a pod", {"keyed_by_container": False}
    SHARED_BY_LONG_NAMES = (
        "keeps one counter for containers of a pod whose names begin with the same 62 characters",
        {"keyed_by_chars": 62},
    )
    SHARED_BY_PODS = "keeps the counter of a deleted pod for one of the same name", {"keyed_by_uid": False}
    SHARED_BY_IMAGES = "keeps the counter of a container whose image changes", {"keyed_by_image": False}


class PunctualityFault(Fault):
    """How much too early or too late a restart comes."""

    # Early
    SHORT_1_PERCENT = "waits 1 % less than is due", {"delay_factor": 0.99}
    SHORT_5_PERCENT = "waits 5 % less than is due", {"delay_factor": 0.95}
    EARLY_10_MS = "restarts 10 ms before the delay has passed", {"early_ns": 10 * MS, "prompt": True}
    EARLY_30_MS = "restarts 30 ms before the delay has passed", {"early_ns": 30 * MS, "prompt": True}
    EARLY_30_MS_UNHURRIED = (
        "takes a delay for over after 30 ms less, and looks no sooner for that",
        {"early_ns": 30 * MS},
    )
    EARLY_50_MS_UNHURRIED = (
        "takes a delay for over after 50 ms less, and looks no sooner for that",
        {"early_ns": 50 * MS},
    )
    EARLY_100_MS = "restarts 100 ms before the delay has passed", {"early_ns": 100 * MS, "prompt": True}
    EARLY_1_S = "restarts 1 s before the delay has passed", {"early_ns": S, "prompt": True}
    AT_ONCE_IN_5_PERCENT = "skips 5 % of the delays", {"skipped_share": 0.05}
    AT_ONCE_IN_1_PERCENT = "skips 1 % of the delays", {"skipped_share": 0.01}

    # Late by a share
    LONG_2_PERCENT = "waits 2 % longer than is due", {"delay_factor": 1.02}
    LONG_5_PERCENT = "waits 5 % longer than is due", {"delay_factor": 1.05}
    LONG_10_PERCENT = "waits 10 % longer than is due", {"delay_factor": 1.1}
    LONG_15_PERCENT = "waits 15 % longer than is due", {"delay_factor": 1.15}
    LONG_20_PERCENT = "waits 20 % longer than is due", {"delay_factor": 1.2}
    LATE_TWICE = "waits twice as long as is due", {"delay_factor": 2.0}

    # Late by a time
    LATE_500_MS = "waits 0.5 s longer than is due", {"late_ns": S // 2}
    LATE_1_S = "waits 1 s longer than is due", {"late_ns": S}
    LATE_2_S = "waits 2 s longer than is due", {"late_ns": 2 * S}
    LATE_5_S = "waits 5 s longer than is due", {"late_ns": 5 * S}
    LATE_5_S_IN_5_PERCENT = "waits 5 s longer in 5 % of the delays", {"late_ns": 5 * S, "late_share": 0.05}
    LATE_30_S_IN_2_PERCENT = "waits 30 s longer in 2 % of the delays", {"late_ns": 30 * S, "late_share": 0.02}
    LATE_5_S_FROM_40_S = "waits 5 s longer where 40 s or more are due", {"late_ns": 5 * S, "late_from_ns": 40 * S}
    LATE_60_S_FROM_300_S = "waits 60 s longer where 300 s are due", {"late_ns": 60 * S, "late_from_ns": 300 * S}
    LATE_5_S_FROM_5TH = "waits 5 s longer from the 5th restart on", {"late_ns": 5 * S, "late_from_restart": 5}
    LATE_5_S_FROM_20TH = "waits 5 s longer from the 20th restart on", {"late_ns": 5 * S, "late_from_restart": 20}
    LATE_15_S_FROM_41ST = "waits 15 s longer from the 41st restart on", {"late_ns": 15 * S, "late_from_restart": 41}
    LATE_30_S_EACH_50TH = "waits 30 s longer before each 50th restart", {"late_ns": 30 * S, "late_every": 50}
    LATE_15_S_INIT = "waits 15 s longer before an init container", {"late_ns": 15 * S, "late_only": "init"}
    LATE_15_S_SIDECARS = "waits 15 s longer before a sidecar", {"late_ns": 15 * S, "late_only": "sidecars"}
    LATE_15_S_BY_RULE = "waits 15 s longer before a restart by rule", {"late_ns": 15 * S, "late_only": "by rule"}
    LATE_15_S_ON_FAILURE = "waits 15 s longer under OnFailure", {"late_ns": 15 * S, "late_only": "on failure"}
    LATE_15_S_PROBED = (
        "waits 15 s longer before a container with a probe that ended by itself",
        {"late_ns": 15 * S, "late_only": "probed"},
    )
    LATE_15_S_HOOKED = "waits 15 s longer before a container with a hook", {"late_ns": 15 * S, "late_only": "hooked"}
    FIRST_700_MS_LATE = "restarts a container for the first time 0.7 s after its exit", {"first_late_ns": 700 * MS}
    FIRST_1_S_LATE = "restarts a container for the first time 1 s after its exit", {"first_late_ns": S}
    FIRST_1_5_S_LATE = "restarts a container for the first time 1.5 s after its exit", {"first_late_ns": 3 * S // 2}
    FIRST_2_S_LATE = "restarts a container for the first time 2 s after its exit", {"first_late_ns": 2 * S}
    FIRST_2_5_S_LATE = "restarts a container for the first time 2.5 s after its exit", {"first_late_ns": 5 * S // 2}
    FIRST_BY_RULE_1_S_LATE = (
        "restarts a container by a rule for the first time 1 s after its exit",
        {"first_late_by_rule_ns": S},
    )
    FIRST_INIT_1_S_LATE = (
        "restarts an init container or a sidecar for the first time 1 s after its exit",
        {"first_late_init_ns": S},
    )

    BEHIND_INIT_8_S_LATE = (
        "starts regular containers for the first time 8 s after the init containers and sidecars before them let it",
        {"starts_behind_init_late_ns": 8 * S},
    )

    # Right to the moment, and looks far too often
    LOOKS_EVERY_SECOND = "looks every second whether a start is due", {"looks_every_ns": S // 2}
    LOOKS_EVERY_2_S = "looks every 2 s whether a start is due", {"looks_every_ns": 3 * S // 2}
    LOOKS_EVERY_SECOND_ABOVE_12_S = (
        "looks every second whether a start is due while more than 12 s remain",
        {"looks_every_ns": S // 2, "looks_often_above_ns": 12 * S},
    )

    # Late by its own timer; any other look at the pod makes up for it
    RETRY_SLOW_ABOVE_30_S = (
        "looks again after three times what remains of a delay, where more than 30 s remain",
        {"slow_retry_above_ns": 30 * S},
    )
    RETRY_SLOW_ABOVE_100_S = (
        "looks again after three times what remains of a delay, where more than 100 s remain",
        {"slow_retry_above_ns": 100 * S},
    )
    RETRY_FIXED = "looks at a waiting container every 10 s to 15 s", {"fixed_retry": True}
    RETRY_BY_LONGEST = (
        "looks again when the longest of the delays of a pod's containers has passed",
        {"retries_by_longest": True},
    )
