"""Faults of the curve: which delay is due."""

from crashloop.sim.behaviour import S
from crashloop.sim.faults.fault import Fault


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
