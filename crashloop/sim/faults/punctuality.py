"""Faults of punctuality: the right delay is due, and the restart comes before or after it."""

from crashloop.sim.behaviour import S
from crashloop.sim.faults.fault import Fault
from crashloop.sim.host import MS


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
