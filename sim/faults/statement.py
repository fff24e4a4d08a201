"""Faults of the statements: what the kubelet says about what it did, in statuses, metrics and its log.

It counts or names otherwise than it acts, or writes too much.
"""

from typing import Any

from sim.behaviour import S
from sim.faults.fault import Fault


def _late(field: str) -> dict[str, Any]:
    """Only this field of a status comes 2 s late, once a container has restarted."""
    return {"states_late_ns": 2 * S, "late_fields": (field,)}


class StatementFault(Fault):
    """What a pod's status says wrongly."""

    # restartCount
    COUNT_OFF_BY_ONE = "states a restartCount that is one too high", {"count_offset": 1}
    COUNT_ONE_LOW = "states a restartCount that is one too low", {"count_offset": -1}
    COUNT_LOW_WHILE_RUNNING = (
        "states a restartCount that is one too low while the container runs",
        {"count_low_while_running": True},
    )
    COUNT_HIGH_WHILE_WAITING = (
        "states a restartCount that is one too high while the container waits",
        {"count_high_while_waiting": True},
    )
    COUNT_SKIPS = "leaves a number out of restartCount", {"count_skips": True}
    COUNT_DECREASES = "lets restartCount fall back", {"count_drops": True}
    COUNT_STUCK = "states a restartCount of 1 for good", {"count_up_to": 1}
    COUNT_NOT_OF_INIT = "states a restartCount of 0 of init containers and sidecars", {"counts_init": False}
    COUNT_FAILURES_ONLY = "does not count restarts after an exit with 0", {"counts_after_0": False}
    COUNT_LOST_AT_RESTART = (
        "states restartCounts from 0 on once it was restarted",
        {"count_survives_restart": False},
    )
    COUNT_LOST_WITH_RECORD = (
        "counts restarts from 0 on, and writes the log anew, once the runtime has lost the records of a container",
        {"counts_beyond_records": False},
    )
    COUNT_LOST_IN_RESET = "states restartCounts from 0 on after RestartAllContainers", {"reset_counts_anew": True}
    COUNT_UP_TO_5 = "states a restartCount of 5 at most", {"count_up_to": 5}
    COUNT_UP_TO_12 = "states a restartCount of 12 at most", {"count_up_to": 12}

    # The phase
    FAILED_WHILE_WAITING = (
        "states the phase Failed while a rule is about to restart a container",
        {"failed_while_waiting": True},
    )
    PENDING_WHILE_ALL_WAIT = "states the phase Pending while no container runs", {"phase_while_all_wait": "Pending"}
    FAILED_WHILE_ALL_WAIT = "states the phase Failed while no container runs", {"phase_while_all_wait": "Failed"}
    UNKNOWN_WHILE_ALL_WAIT = "states the phase Unknown while no container runs", {"phase_while_all_wait": "Unknown"}
    RUNNING_IN_INIT = "states the phase Running while init containers go on", {"running_in_init": "always"}
    RUNNING_IN_INIT_AGAIN = (
        "states the phase Running while init containers go on in another sandbox",
        {"running_in_init": "again"},
    )
    FINAL_WHILE_RUNNING = (
        "states a final phase while containers of the pod still run",
        {"final_awaits_ends": False},
    )
    SUCCEEDED_AFTER_FAILURE = "states the phase Succeeded though a container failed", {"always_succeeded": True}
    FAILED_AFTER_SUCCESS = "states the phase Failed though every container exited with 0", {"always_failed": True}
    PENDING_WITHOUT_RECORD = (
        "states the phase Pending once the runtime has lost the record of a running container",
        {"infers_lost_ends": False},
    )
    NEVER_ENDS = "states the phase Running for good", {"never_ends": True}

    # Container states
    WRONG_EXIT_CODE = "states an exit code that is one too high", {"exit_code_offset": 1, "last_exit_code_offset": 1}
    WRONG_LAST_EXIT_CODE = "states a wrong exit code of the previous instance", {"last_exit_code_offset": 1}
    EXIT_CODE_UP_TO_1 = "states every exit code but 0 as 1", {"exit_code_up_to": 1}
    EXIT_CODE_UP_TO_41 = "states an exit code of 41 at most", {"exit_code_up_to": 41}
    EXIT_CODE_UP_TO_127 = "states an exit code of 127 at most", {"exit_code_up_to": 127}
    FINISHED_1S_LATE = "states a finishedAt that is 1 s late", {"finished_offset_s": 1}
    FINISHED_2S_LATE = "states a finishedAt that is 2 s late", {"finished_offset_s": 2}
    FINISHED_5S_LATE = "states a finishedAt that is 5 s late", {"finished_offset_s": 5}
    FINISHED_2S_EARLY = "states a finishedAt that is 2 s early", {"finished_offset_s": -2}
    FINISHED_5S_EARLY = "states a finishedAt that is 5 s early", {"finished_offset_s": -5}
    FINISHED_UNSTATED = "leaves out finishedAt", {"finished_offset_s": None}
    STARTED_UNSTATED = "leaves out startedAt of what has ended", {"started_offset_s": None}
    STARTED_1H_EARLY = "states a startedAt that is one hour early", {"started_offset_s": -3_600}
    RUNNING_WHILE_DEAD = "states that a container runs that has exited", {"running_while_dead": True}
    FINAL_STATUS_MISSING = "does not state how the containers of a deleted pod ended", {"final_status": "nothing"}
    FINAL_CODES_LOST = "states exit code 137 for every container of a deleted pod", {"final_status": "killed"}
    FINAL_INIT_LEFT_OUT = "leaves init containers out of the last status of a pod", {"final_status": "regular"}
    FINAL_PHASE_KEPT = (
        "states the phase Running to the end of a deleted pod whose policies would restart a container",
        {"final_phase": "kept"},
    )
    FINAL_PHASE_SUCCEEDED = "states that every deleted pod succeeded", {"final_phase": "Succeeded"}
    FINAL_PHASE_FAILED = "states that every deleted pod failed", {"final_phase": "Failed"}
    LAST_STATE_BEHIND = "states as the last end of a container the one before it", {"last_state_behind": True}
    LAST_WORDS_LOST = "does not state the termination message of a container", {"states_last_words": "none"}
    LAST_WORDS_LOST_WITH_RESTART = (
        "does not state the termination message of the instance before",
        {"states_last_words": "not in the last state"},
    )
    LAST_WORDS_BEHIND = "states the termination message of the instance before", {"states_last_words": "before"}
    LAST_WORDS_OF_FIRST = (
        "states the termination message of the first instance for each",
        {"states_last_words": "first"},
    )
    READY_WHILE_WAITING = "states that a container is ready that waits for its delay", {"ready_while_waiting": True}
    STATES_30_S_LATE = "writes statuses 30 s late once a container has restarted", {"states_late_ns": 30 * S}
    STATES_2_S_LATE = "writes statuses 2 s late once a container has restarted", {"states_late_ns": 2 * S}
    COUNT_2_S_LATE = "states restartCounts 2 s late", _late("restartCount")
    STATE_2_S_LATE = "states 2 s late that a container waits, runs or has ended", _late("state")
    LAST_STATE_2_S_LATE = "states 2 s late how the previous instance ended", _late("lastState")
    READY_2_S_LATE = "states 2 s late whether a container is ready", _late("ready")
    STARTED_2_S_LATE = "states 2 s late whether a container has started", _late("started")
    PHASE_2_S_LATE = "states the phase 2 s late once a container has restarted", _late("phase")
    CONDITIONS_2_S_LATE = "states the conditions of a pod 2 s late", _late("conditions")
    LAST_STATE_LOST = "does not state how the previous instance ended", {"states_last_end": "never"}
    LAST_STATE_NOT_WHILE_WAITING = (
        "does not state how a container ended that waits for its delay",
        {"states_last_end": "not while it waits"},
    )
    REASONS_SWAPPED = (
        "states Completed as the reason of a failure, and Error as that of a success",
        {"swaps_reasons": True},
    )

    # RestartAllContainers
    RESET_UNSTATED = "does not state AllContainersRestarting", {"states_reset": False}
    RESET_STATED_FROM_THE_START = (
        "states AllContainersRestarting before any container has exited",
        {"reset_from_the_start": True},
    )
    RESET_STATED_FOR_GOOD = "states AllContainersRestarting for good", {"reset_never_over": True}
    RESET_STATED_OF_EVERY_POD = (
        "states the condition AllContainersRestarting of every pod",
        {"condition_without_rule": "every"},
    )
    RESET_STATED_OF_EVERY_RULE = (
        "states the condition AllContainersRestarting of pods with any restart rule",
        {"condition_without_rule": "ruled"},
    )
    RESET_STATED_OF_RESTARTS = (
        "states the condition AllContainersRestarting of pods that have restarted a container",
        {"condition_without_rule": "restarted"},
    )
    FAILED_IN_RESET = "states the phase Failed while all containers restart", {"phase_in_reset": "Failed"}
    SUCCEEDED_IN_RESET = "states the phase Succeeded while all containers restart", {"phase_in_reset": "Succeeded"}
    UNKNOWN_IN_RESET = "states the phase Unknown while all containers restart", {"phase_in_reset": "Unknown"}

    # The pod
    ADDRESS_LOST_AT_THE_END = "states a pod that has ended without its address", {"address_of_ended": False}
    ADDRESS_MOVES = "states another address after each restart", {"address_moves": True}

    # Reason and message of a delay
    HIDES_BACKOFF = "does not state that a container waits for its delay", {"waiting_reason": ""}
    OTHER_REASON = "states another reason for which a container waits for its delay", {"waiting_reason": "BackOff"}
    BACK_OFF_EVENT_LATE = "has the Event of a delay 2.5 s late", {"back_off_event_ns": 5 * S // 2}
    BACK_OFF_EVENT_MISSING = "has no Event of a delay", {"back_off_event_ns": None}
    MESSAGE_TWICE = "states twice the delay in the message of a waiting container", {"message_factor": 2.0}

    # The generation of a pod's spec
    GENERATION_NOT_NAMED = "names no generation in a status", {"generation_named": "none"}
    GENERATION_STAYS = "names the first generation of a pod's spec in each status", {"generation_named": "first"}
    GENERATION_AHEAD = "counts restarts as generations of a pod's spec", {"generation_named": "ahead"}
    GENERATION_FALLS = (
        "names the first generation of a pod's spec again once a container was restarted",
        {"generation_named": "until a restart"},
    )
    GENERATION_LESS_IN_DELAYS = (
        "names the generation before while a container waits for its delay",
        {"generation_named": "less in delays"},
    )
    GENERATION_GOES_AT_END = (
        "names no generation in the last status of a deleted pod",
        {"generation_named": "none at the end"},
    )
    LISTS_BY_START = "lists the container that has started last first", {"lists_by_start": True}
    TRANSITION_UNKNOWN = "does not state since when a pod is ready", {"transition_time": "none"}
    TRANSITION_STAYS = "never moves lastTransitionTime of Ready", {"transition_time": "first"}
    TRANSITION_MOVES = "moves lastTransitionTime of Ready with each status", {"transition_time": "now"}


class MetricsFault(Fault):
    """What the kubelet states in numbers."""

    POD_START_MEASURED_AT_EVERY_SYNC = (
        "measures the start of a pod at every sync",
        {"pod_start_moments": ("first sync", "running", "every sync")},
    )
    POD_START_MEASURED_IN_DELAYS = (
        "measures the start of a pod at every look that finds a start held back",
        {"pod_start_moments": ("first sync", "running", "held back")},
    )
    POD_START_NOT_MEASURED = "never measures the start of a pod", {"pod_start_moments": ()}
    IMAGE_BEFORE_BACKOFF = "asks for the image before it looks at the delay", {"asks_for_image_while_held": 1}
    IMAGE_BEFORE_EACH_THIRD_BACKOFF = (
        "asks for the image before each third look at a delay",
        {"asks_for_image_while_held": 3},
    )
    IMAGE_ASKED_TWICE = "asks for the image twice at each start", {"image_questions": 2}
    STARTS_COUNTED_TWICE = "counts each start of a container twice", {"counts_a_start": 2}
    LOG_GROWS = "writes a tenth more into its log with each restart", {"log_growth": 0.1}
    LOG_GROWS_SLOWLY = "writes a fiftieth more into its log with each restart", {"log_growth": 0.02}
    LOG_DOUBLED = "writes each line of its log twice from the twentieth restart on", {"log_doubles_from": 20}
    STATE_METRICS_BEHIND = (
        "has kube-state-metrics state one restart less than there were",
        {"state_metrics": "behind"},
    )
    STATE_METRICS_WITHOUT_REASON = "has kube-state-metrics state no waiting reason", {"state_metrics": "no reason"}
    STATE_METRICS_WITHOUT_CODE = "has kube-state-metrics state every last exit with 0", {"state_metrics": "no code"}
    GATES_STATED_OFF = "states all its feature gates as off", {"gates_stated": "off"}
    GATES_STATED_STABLE = "states all its feature gates as stable", {"gates_stated": "stable"}
    GATES_HIDDEN = "does not state its feature gates", {"gates_stated": "hidden"}
