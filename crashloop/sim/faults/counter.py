"""Faults of the counter: whose it is, and when it is forgotten."""

from crashloop.sim.behaviour import S
from crashloop.sim.faults.fault import Fault


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
    SIBLING_RESETS = "forgets the counters of a pod's other containers when it starts one", {"sibling_forgets": True}
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
